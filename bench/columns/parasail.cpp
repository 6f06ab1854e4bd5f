/*
 * Aligns pairs of proteins locally with parasail, BLOSUM62 and gaps 11/1. Each input line has two sequences with a tab
 * between them. Each output line has the starts in both sequences and the CIGAR. M is any pair, I is a residue of the
 * first sequence without a partner.
 */
#include <parasail.h>
#include <parasail/matrices/blosum62.h>

#include <iostream>
#include <string>

int main() {
  constexpr int kGapOpen = 11;
  constexpr int kGapExtend = 1;
  std::string first, second;
  while (std::getline(std::cin, first, '\t') && std::getline(std::cin, second)) {
    const int firstLength = static_cast<int>(first.size()), secondLength = static_cast<int>(second.size());
    parasail_result_t* result = parasail_sw_trace_striped_16(first.c_str(), firstLength, second.c_str(), secondLength,
                                                             kGapOpen, kGapExtend, &parasail_blosum62);
    parasail_cigar_t* cigar = parasail_result_get_cigar(result, first.c_str(), firstLength, second.c_str(),
                                                        secondLength, &parasail_blosum62);
    std::cout << cigar->beg_query << '\t' << cigar->beg_ref << '\t';
    for (int at = 0; at < cigar->len; ++at) {
      const char operation = parasail_cigar_decode_op(cigar->seq[at]);
      std::cout << parasail_cigar_decode_len(cigar->seq[at]) << (operation == '=' || operation == 'X' ? 'M' : operation);
    }
    std::cout << '\n';
    parasail_cigar_free(cigar);
    parasail_result_free(result);
  }
}
