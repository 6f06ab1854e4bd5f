/* SSW's scores with BLOSUM62. */
#ifndef GLOAMING_TEST_SSW_QUERY_H
#define GLOAMING_TEST_SSW_QUERY_H

#include <ssw.h>

#include <string>
#include <vector>

#include "test/blosum.h"

namespace gloaming {

inline std::vector<int8_t> sswLetters(const std::string& protein) {
  std::vector<int8_t> numbers;
  for (const char letter : protein) numbers.push_back(static_cast<int8_t>(letterOf(letter)));
  return numbers;
}

class SswQuery {
 public:
  explicit SswQuery(const std::string& protein) : letters_(sswLetters(protein)) {
    for (int k = 0; k < 24 * 24; ++k) matrix_[k] = static_cast<int8_t>(parasail_blosum62.matrix[k]);
    profile_ = ssw_init(letters_.data(), static_cast<int32_t>(letters_.size()), matrix_, 24, 2);
  }
  ~SswQuery() { init_destroy(profile_); }
  SswQuery(const SswQuery&) = delete;
  SswQuery& operator=(const SswQuery&) = delete;

  int32_t score(const std::vector<int8_t>& target) const {
    s_align* alignment =
        ssw_align(profile_, target.data(), static_cast<int32_t>(target.size()), kGapOpen, kGapExtend, 0, 0, 0, 15);
    const int32_t score = alignment->score1;
    align_destroy(alignment);
    return score;
  }

 private:
  const std::vector<int8_t> letters_;
  int8_t matrix_[24 * 24];
  s_profile* profile_;
};

}  // namespace gloaming

#endif
