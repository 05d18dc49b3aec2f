#include "converters/json_scan.h"

#include <bit>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace reprise {

// One bit a byte.
struct ArrayScanner::Marks {
  std::uint64_t quotes = 0, slashes = 0, opens = 0, closes = 0, commas = 0;
};

#ifdef __SSE2__
ArrayScanner::Marks ArrayScanner::MarksOf(const char* block) {
  Marks marks;
  for (unsigned lane = 0; lane < kBlock; lane += sizeof(__m128i)) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + lane));
    // '[' and '{', ']' and '}' differ in this bit alone.
    const __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const auto mask = [&](const __m128i& in, char c) {
      const int bits = _mm_movemask_epi8(_mm_cmpeq_epi8(in, _mm_set1_epi8(c)));
      return static_cast<std::uint64_t>(static_cast<unsigned>(bits)) << lane;
    };
    marks.quotes |= mask(bytes, '"');
    marks.slashes |= mask(bytes, '\\');
    marks.opens |= mask(folded, '{');
    marks.closes |= mask(folded, '}');
    marks.commas |= mask(bytes, ',');
  }
  return marks;
}
#else
ArrayScanner::Marks ArrayScanner::MarksOf(const char* block) {
  Marks marks;
  for (unsigned i = 0; i < kBlock; ++i) {
    const auto mask = [&](bool is) { return static_cast<std::uint64_t>(is) << i; };
    const char c = block[i];
    marks.quotes |= mask(c == '"');
    marks.slashes |= mask(c == '\\');
    marks.opens |= mask((c | 0x20) == '{');
    marks.closes |= mask((c | 0x20) == '}');
    marks.commas |= mask(c == ',');
  }
  return marks;
}
#endif

void ArrayScanner::ScanBlock(const Marks& marks, std::size_t at, Found& found) {
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

ArrayScanner::Found ArrayScanner::Scan(std::string_view text, bool ends) {
  Found found;
  std::size_t at = 0;
  for (; at + kBlock <= text.size() && found.end == std::string_view::npos; at += kBlock) {
    ScanBlock(MarksOf(text.data() + at), at, found);
  }
  if (ends && at < text.size() && found.end == std::string_view::npos) {
    char block[kBlock];
    std::memset(block, ' ', sizeof(block));
    std::memcpy(block, text.data() + at, text.size() - at);
    ScanBlock(MarksOf(block), at, found);
    at = text.size();
  }
  found.scanned = found.end == std::string_view::npos ? at : found.end;
  return found;
}

}  // namespace reprise
