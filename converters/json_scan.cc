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
  // A bit is set if an odd number of the bits up to it is.
  [[gnu::always_inline]] static std::uint64_t SumUp(std::uint64_t bits) {
    for (unsigned shift = 1; shift < kBlock; shift *= 2) {
      bits ^= bits << shift;
    }
    return bits;
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

template <typename Machine>
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
  std::uint64_t inside = Machine::SumUp(marks.quotes & ~escaped) ^ in_string_;
  if ((marks.slashes & ~inside) != 0) {  // damage: outside of strings they escape nothing
    inside = InsideOf(marks, first_escaped);
  }
  in_string_ = -(inside >> (kBlock - 1));
  Follow(marks.opens & ~inside, marks.closes & ~inside, marks.commas & ~inside, at, found);
}

// Where the depth comes down to 1: only there elements end. Closing brackets are few and looked at
// one by one, what else there is by counting.
[[gnu::always_inline]] inline void ArrayScanner::Follow(std::uint64_t opens, std::uint64_t closes,
                                                        std::uint64_t commas, std::size_t at,
                                                        Found& found) {
  const std::int64_t depth = depth_;
  depth_ += std::popcount(opens) - std::popcount(closes);
  if (depth - std::popcount(closes) > 1) {  // deep inside of an element all along
    return;
  }
  // At depth 1 from this bit up to the next bracket.
  const auto between_elements = [&](std::uint64_t from) {
    const std::uint64_t brackets = (opens | closes) & from;
    if (const std::uint64_t here = commas & from & (brackets - 1) & ~brackets; here != 0) {
      found.comma = at + kBlock - 1 - static_cast<std::size_t>(std::countl_zero(here));
    }
  };
  if (depth == 1) {
    between_elements(~std::uint64_t{0});
  }
  std::int64_t closed = 0;
  for (std::uint64_t left = closes; left != 0; left &= left - 1) {
    const std::uint64_t below = (left & -left) - 1;
    const std::int64_t now = depth + std::popcount(opens & below) - ++closed;
    if (now == 1) {
      between_elements(~(2 * below + 1));
    } else if (now == 0) {
      found.end = at + static_cast<std::size_t>(std::popcount(below));
      return;
    }
  }
}

template <typename Machine>
[[gnu::always_inline]] inline ArrayScanner::Found ArrayScanner::ScanWith(std::string_view text,
                                                                         bool ends) {
  Found found;
  std::size_t at = 0;
  for (; at + kBlock <= text.size() && found.end == std::string_view::npos; at += kBlock) {
    ScanBlock<Machine>(Machine::MarksOf(text.data() + at), at, found);
  }
  if (ends && at < text.size() && found.end == std::string_view::npos) {
    char block[kBlock];
    std::memset(block, ' ', sizeof(block));
    std::memcpy(block, text.data() + at, text.size() - at);
    ScanBlock<Machine>(Machine::MarksOf(block), at, found);
    at = text.size();
  }
  found.scanned = found.end == std::string_view::npos ? at : found.end;
  return found;
}

#ifdef __x86_64__
struct ArrayScanner::Haswell : Portable {
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

struct ArrayScanner::Icelake : Portable {
  [[gnu::target("avx512bw,popcnt,bmi,bmi2")]] static Marks MarksOf(const char* block) {
    const __m512i bytes = _mm512_loadu_si512(block);
    const __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    return {.quotes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
            .slashes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')),
            .opens = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{')),
            .closes = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}')),
            .commas = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(','))};
  }
};

[[gnu::target("avx512bw,popcnt,bmi,bmi2"), gnu::flatten]] ArrayScanner::Found
ArrayScanner::ScanIcelake(std::string_view text, bool ends) {
  return ScanWith<Icelake>(text, ends);
}

ArrayScanner::Found ArrayScanner::Scan(std::string_view text, bool ends) {
  if (__builtin_cpu_supports("bmi2") == 0 || __builtin_cpu_supports("avx2") == 0) {
    return ScanWith<Portable>(text, ends);
  }
  return __builtin_cpu_supports("avx512bw") != 0 ? ScanIcelake(text, ends)
                                                 : ScanHaswell(text, ends);
}
#else
ArrayScanner::Found ArrayScanner::Scan(std::string_view text, bool ends) {
  return ScanWith<Portable>(text, ends);
}
#endif

}  // namespace reprise
