#include "converters/plain_json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <system_error>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/text.h"

namespace reprise {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kBlock = 32;  // most strings end within

// One bit for each byte that ends a string, begins an escape, or may not stand in a string.
#ifdef __SSE2__
std::uint32_t StopsInHalf(const char* half) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(half));
  const __m128i last_control = _mm_set1_epi8(0x1f);
  const __m128i stops =
      _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
                   _mm_cmpeq_epi8(_mm_max_epu8(bytes, last_control), last_control));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(stops));
}
std::uint32_t StopsIn(const char* block) {
  return StopsInHalf(block) | StopsInHalf(block + kBlock / 2) << kBlock / 2;
}
#else
std::uint32_t StopsIn(const char* block) {
  std::uint32_t stops = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto byte = static_cast<unsigned char>(block[i]);
    stops |= static_cast<std::uint32_t>(byte == '"' || byte == '\\' || byte < 0x20) << i;
  }
  return stops;
}
#endif

// The first stop at or behind `at`; `end` or beyond: none.
const char* NextStop(const char* at, const char* end) {
  for (; at < end; at += kBlock) {
    if (const std::uint32_t stops = StopsIn(at); stops != 0) {
      return at + std::countr_zero(stops);
    }
  }
  return end;
}

const char* SkipDigits(const char* at) {
  while (IsDigit(*at)) {
    ++at;
  }
  return at;
}

// Up to eight digits at once, without a branch for each; returns how many there are. Eight bytes
// can be read.
std::ptrdiff_t ReadDigits(const char* at, std::uint64_t& value) {
  if constexpr (std::endian::native == std::endian::little) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at, sizeof(bytes));
    bytes ^=
        0x3030303030303030;  // digits are 0 to 9 now; what lies behind the first other counts not
    const std::uint64_t others = ((bytes + 0x7676767676767676) | bytes) & 0x8080808080808080;
    const int count = std::countr_zero(others) / 8;
    if (count == 0) {
      return 0;
    }
    bytes <<= 64 - 8 * count;  // zeros in front
    bytes = (bytes * 10 + (bytes >> 8)) & 0x00ff00ff00ff00ff;
    bytes = (bytes * 100 + (bytes >> 16)) & 0x0000ffff0000ffff;
    value = (bytes * 10000 + (bytes >> 32)) & 0xffffffff;
    return count;
  } else {
    std::ptrdiff_t count = 0;
    for (; count < 8 && IsDigit(at[count]); ++count) {
      value = 10 * value + static_cast<std::uint64_t>(at[count] - '0');
    }
    return count;
  }
}

// 0: \u, or no escape.
char Unescaped(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

}  // namespace

constinit const PlainEntry PlainElement::kNull;

simdjson::dom::element_type PlainElement::type() const {
  using simdjson::dom::element_type;
  switch (at_->kind) {
    case PlainEntry::Kind::kFalse:
    case PlainEntry::Kind::kTrue:
      return element_type::BOOL;
    case PlainEntry::Kind::kInteger:
      return element_type::INT64;
    case PlainEntry::Kind::kDouble:
      return element_type::DOUBLE;
    case PlainEntry::Kind::kString:
      return element_type::STRING;
    case PlainEntry::Kind::kArray:
      return element_type::ARRAY;
    case PlainEntry::Kind::kNull:
      break;
  }
  return element_type::NULL_VALUE;
}

bool PlainJson::Begin(std::string_view text) {
  at_ = text.data();
  end_ = at_ + text.size();
  unescaped_.clear();
  // The bracket ends numbers and words, so that only strings and gaps need to look for the end.
  return !text.empty() && (text.back() == ']' || text.back() == '}') &&
         text.size() < std::numeric_limits<std::uint32_t>::max() &&
         simdjson::validate_utf8(text.data(), text.size());
}

bool PlainJson::RestOfString(std::string_view& out) {
  const char* const begin = at_;
  const char* const stop = NextStop(begin, end_);
  if (stop >= end_ || *stop != '"') {
    return stop < end_ && *stop == '\\' && Unescape(begin, stop, out);
  }
  out = {begin, static_cast<std::size_t>(stop - begin)};
  at_ = stop + 1;
  return true;
}

bool PlainJson::Unescape(const char* begin, const char* slash, std::string_view& out) {
  unescaped_.reserve(static_cast<std::size_t>(end_ - at_) + unescaped_.size());
  const std::size_t first = unescaped_.size();
  while (*slash == '\\') {
    const char c = Unescaped(slash[1]);
    if (c == '\0') {
      return false;
    }
    unescaped_.append(begin, slash);
    unescaped_ += c;
    begin = slash + 2;
    slash = NextStop(begin, end_);
    if (slash >= end_) {
      return false;
    }
  }
  unescaped_.append(begin, slash);
  out = std::string_view(unescaped_).substr(first);
  at_ = slash + 1;
  return *slash == '"';
}

bool PlainJson::Literal(std::string_view word, PlainEntry::Kind kind, Tape& tape) {
  if (std::memcmp(at_, word.data(), word.size()) != 0) {
    return false;
  }
  at_ += word.size();
  tape.emplace_back().kind = kind;
  return true;
}

bool PlainJson::Double(const char* begin, PlainEntry& out) {
  const char* at = at_;
  if (*at == '.') {
    const char* const digits = at + 1;
    at = SkipDigits(digits);
    if (at == digits) {
      return false;
    }
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    at += *at == '-' || *at == '+' ? 1 : 0;
    const char* const digits = at;
    at = SkipDigits(digits);
    if (at == digits) {
      return false;
    }
  }
  at_ = at;
  out.kind = PlainEntry::Kind::kDouble;
  const auto [read, error] = std::from_chars(begin, at, out.number);
  return error == std::errc() && read == at;  // else beyond what a double holds
}

bool PlainJson::Number(PlainEntry& out) {
  const char* const begin = at_;
  const bool negative = *at_ == '-';
  const char* const digits = at_ + (negative ? 1 : 0);
  std::uint64_t value = 0;
  at_ = digits + ReadDigits(digits, value);
  if (at_ == digits + sizeof(value)) {
    for (; IsDigit(*at_); ++at_) {
      value = 10 * value + static_cast<std::uint64_t>(*at_ - '0');
    }
  }
  const auto count = at_ - digits;
  if (count == 0 || (count > 1 && *digits == '0')) {
    return false;
  }
  if (*at_ == '.' || *at_ == 'e' || *at_ == 'E') {
    return Double(begin, out);
  }
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t most = static_cast<std::uint64_t>(kHighest) + (negative ? 1 : 0);
  out.kind = PlainEntry::Kind::kInteger;
  out.integer = static_cast<std::int64_t>(negative ? 0 - value : value);
  return count <= std::numeric_limits<std::int64_t>::digits10 + 1 && value <= most;
}

void PlainJson::Remember(Headings& headings, std::size_t i, const char* begin, const char* end,
                         int id) {
  constexpr std::size_t kMax = 64;  // of each: what is longer is no pattern
  if (i < kMax && static_cast<std::size_t>(end - begin) <= 4 * kMax) {
    headings.resize(std::max(headings.size(), i + 1));
    headings[i].text.assign(begin, end);
    headings[i].id = id;
  }
}

bool PlainJson::ArrayOf(Tape& tape, int depth) {
  const std::size_t array = tape.size();
  tape.emplace_back().kind = PlainEntry::Kind::kArray;
  std::uint32_t count = 0;
  const bool is = depth < kMaxDepth && Array([&] {
                    ++count;
                    return Value(tape, depth + 1);
                  });
  tape[array].size = count;
  tape[array].entries = tape.size() - array;
  return is;
}

bool PlainJson::Value(Tape& tape, int depth) {
  const char first = Peek();
  if (IsDigit(first) || first == '-') {  // most values
    return Number(tape.emplace_back());
  }
  switch (first) {
    case '[':
      return ArrayOf(tape, depth);
    case '"': {
      std::string_view text;
      if (!String(text)) {
        return false;
      }
      PlainEntry& entry = tape.emplace_back();
      entry.kind = PlainEntry::Kind::kString;
      entry.size = static_cast<std::uint32_t>(text.size());
      entry.text = text.data();
      return true;
    }
    case 't':
      return Literal("true", PlainEntry::Kind::kTrue, tape);
    case 'f':
      return Literal("false", PlainEntry::Kind::kFalse, tape);
    case 'n':
      return Literal("null", PlainEntry::Kind::kNull, tape);
    default:
      return false;
  }
}

}  // namespace reprise
