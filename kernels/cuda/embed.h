/* Embeds a file in the library as bytes, by the assembler. A C array would take the compiler minutes. */
#ifndef GLOAMING_CUDA_EMBED_H
#define GLOAMING_CUDA_EMBED_H

// An assembler directive a line.
// clang-format off
#define GLOAMING_EMBED(NAME, PATH) \
  asm(".pushsection .rodata\n" \
      ".balign 64\n" #NAME ":\n" \
      ".incbin \"" PATH "\"\n" \
      ".balign 64\n" \
      ".popsection\n"); \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char NAME[]
// clang-format on

#endif
