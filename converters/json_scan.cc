#include "converters/json_scan.h"

#include <bit>
#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace reprise {

// One bit a byte.
struct ArrayScanner::Marks {
  std::uint64_t quotes = 0, slashes = 0, opens = 0, closes = 0, commas = 0;
};

struct ArrayScanner::Portable {
  [[gnu::always_inline]] static Marks MarksOf(const char* block) {
    Marks marks;
    for (unsigned i = 0; i < kBlock; ++i) {
      const auto mask = [&](bool is) { return static_cast<std::uint64_t>(is) << i; };
      const char c = block[i];
      const int folded = c | 0x20;  // '[' and '{', ']' and '}' differ in this bit alone
      marks.quotes |= mask(c == '"');
      marks.slashes |= mask(c == '\\');
      marks.opens |= mask(folded == '{');
      marks.closes |= mask(folded == '}');
      marks.commas |= mask(c == ',');
    }
    return marks;
  }
};

std::uint64_t ArrayScanner::InsideOf(const Marks& marks, bool escaped) {
  std::uint64_t inside = 0;
  bool in_string = in_string_ != 0;
  for (unsigned i = 0; i < kBlock; ++i) {
    const bool quote = (marks.quotes >> i & 1U) != 0;
    const bool slash = (marks.slashes >> i & 1U) != 0;
    in_string = in_string != (quote && !escaped);
    escaped = in_string && slash && !escaped;
    inside |= static_cast<std::uint64_t>(in_string) << i;
  }
  escaped_ = static_cast<std::uint64_t>(escaped);
  return inside;
}

[[gnu::always_inline]] inline void ArrayScanner::ScanBlock(const Marks& marks, std::size_t at,
                                                           Found& found) {
  const bool first_escaped = escaped_ != 0;
  std::uint64_t escaped = escaped_;
  escaped_ = 0;
  for (std::uint64_t slashes = marks.slashes & ~escaped; slashes != 0;) {
    const std::uint64_t slash = slashes & -slashes;
    const std::uint64_t next = slash << 1U;
    escaped |= next;
    escaped_ = static_cast<std::uint64_t>(next == 0);
    slashes &= ~(slash | next);
  }
  // Every quote turns all that follow it inside out.
  std::uint64_t inside = marks.quotes & ~escaped;
  for (unsigned shift = 1; shift < kBlock; shift *= 2) {
    inside ^= inside << shift;
  }
  inside ^= in_string_;
  if ((marks.slashes & ~inside) != 0) {  // damage: outside of strings they escape nothing
    inside = InsideOf(marks, first_escaped);
  }
  in_string_ = -(inside >> (kBlock - 1));
  const std::uint64_t opens = marks.opens & ~inside;
  const std::uint64_t closes = marks.closes & ~inside;
  if (depth_ - std::popcount(closes) > 1) {  // deep inside of an element all along
    depth_ += std::popcount(opens) - std::popcount(closes);
    return;
  }
  for (std::uint64_t left = opens | closes | (marks.commas & ~inside); left != 0;
       left &= left - 1) {
    const std::uint64_t bit = left & -left;
    if ((bit & opens) != 0) {
      ++depth_;
    } else if ((bit & closes) != 0) {
      if (--depth_ == 0) {
        found.end = at + static_cast<std::size_t>(std::countr_zero(bit));
        return;
      }
    } else if (depth_ == 1) {
      found.comma = at + static_cast<std::size_t>(std::countr_zero(bit));
    }
  }
}

template <typename Machine>
[[gnu::always_inline]] inline ArrayScanner::Found ArrayScanner::ScanWith(std::string_view text,
                                                                         bool ends) {
  Found found;
  std::size_t at = 0;
  for (; at + kBlock <= text.size() && found.end == std::string_view::npos; at += kBlock) {
    ScanBlock(Machine::MarksOf(text.data() + at), at, found);
  }
  if (ends && at < text.size() && found.end == std::string_view::npos) {
    char block[kBlock];
    std::memset(block, ' ', sizeof(block));
    std::memcpy(block, text.data() + at, text.size() - at);
    ScanBlock(Machine::MarksOf(block), at, found);
    at = text.size();
  }
  found.scanned = found.end == std::string_view::npos ? at : found.end;
  return found;
}

#ifdef __x86_64__
struct ArrayScanner::Haswell {
  [[gnu::target("avx2,popcnt,bmi,bmi2")]] static std::uint64_t MaskOf(__m256i low, __m256i high,
                                                                      char c) {
    const __m256i wanted = _mm256_set1_epi8(c);
    const auto first = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
    const auto second =
        static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
    return first | static_cast<std::uint64_t>(second) << 32U;
  }
  [[gnu::target("avx2,popcnt,bmi,bmi2")]] static Marks MarksOf(const char* block) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + kBlock / 2));
    const __m256i fold = _mm256_set1_epi8(0x20);
    const __m256i folded_low = _mm256_or_si256(low, fold);
    const __m256i folded_high = _mm256_or_si256(high, fold);
    return {.quotes = MaskOf(low, high, '"'),
            .slashes = MaskOf(low, high, '\\'),
            .opens = MaskOf(folded_low, folded_high, '{'),
            .closes = MaskOf(folded_low, folded_high, '}'),
            .commas = MaskOf(low, high, ',')};
  }
};

[[gnu::target("avx2,popcnt,bmi,bmi2"), gnu::flatten]] ArrayScanner::Found ArrayScanner::ScanHaswell(
    std::string_view text, bool ends) {
  return ScanWith<Haswell>(text, ends);
}

ArrayScanner::Found ArrayScanner::Scan(std::string_view text, bool ends) {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0
             ? ScanHaswell(text, ends)
             : ScanWith<Portable>(text, ends);
}
#else
ArrayScanner::Found ArrayScanner::Scan(std::string_view text, bool ends) {
  return ScanWith<Portable>(text, ends);
}
#endif

}  // namespace reprise
