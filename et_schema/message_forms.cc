// Forms from their keys, and messages from forms.
#include "et_schema/message_forms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "et_schema/wire.h"

namespace reprise {
namespace {

// Deeper than Chakra's messages go.
constexpr int kMostNested = 8;
constexpr std::size_t kVarintBytes = 10;
constexpr std::size_t kDecimalBytes = 20;

}  // namespace

bool MessageForm::Parse(std::string key, MessageForm& form) {
  form = {};
  form.places_.fill(-1);
  form.key_ = std::move(key);
  WireCursor cursor(form.key_);
  int depth = 0;
  while (!cursor.AtEnd()) {
    std::uint64_t mark = 0;
    if (!cursor.Varint(mark)) {
      return false;
    }
    Part part{.step = static_cast<Step>(mark)};
    std::uint64_t kind = 0;
    std::string_view bytes;
    switch (part.step) {
      case Step::kBytes:
        if (!cursor.Bytes(bytes)) {
          return false;
        }
        part.begin = static_cast<std::uint32_t>(bytes.data() - form.key_.data());
        part.size = static_cast<std::uint32_t>(bytes.size());
        form.most_bytes_ += bytes.size();
        break;
      case Step::kVarint:
      case Step::kDecimal:
        if (!cursor.Varint(kind) || kind == 0 || kind >= kNumberKinds) {
          return false;
        }
        if (form.places_[kind] < 0) {
          form.places_[kind] = static_cast<std::int32_t>(form.kinds_.size());
        }
        form.kinds_.push_back(static_cast<NumberKind>(kind));
        form.most_bytes_ += part.step == Step::kVarint ? kVarintBytes : kDecimalBytes;
        break;
      case Step::kOpen:
        form.most_bytes_ += kVarintBytes;
        if (++depth > kMostNested) {
          return false;
        }
        break;
      case Step::kClose:
        if (--depth < 0) {
          return false;
        }
        break;
      default:
        return false;
    }
    form.parts_.push_back(part);
  }
  return depth == 0;
}

std::string_view MessageForm::Join(const std::int64_t* numbers, std::string& buffer) const {
  if (buffer.size() < most_bytes_) {
    buffer.resize(most_bytes_);
  }
  // From the end, so that each length is known before it is written.
  char* const end = buffer.data() + buffer.size();
  char* at = end;
  const auto put_varint = [&at](std::uint64_t value) {
    if (value < 0x80) {  // most
      *--at = static_cast<char>(value);
      return;
    }
    std::array<char, kVarintBytes> bytes;
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
      bytes[size++] = static_cast<char>(value | 0x80);
    }
    bytes[size++] = static_cast<char>(value);
    at = std::copy_backward(bytes.begin(), bytes.begin() + size, at);
  };
  const auto put_decimal = [&at](std::int64_t value) {
    if (value >= 0 && value < 10) {
      *--at = static_cast<char>('0' + value);
      return;
    }
    std::array<char, kDecimalBytes> digits;
    const auto [last, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    at = std::copy_backward(digits.data(), last, at);
  };
  std::array<const char*, kMostNested> ends{};
  std::size_t depth = 0;
  std::size_t number = kinds_.size();
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const Part& part = parts_[i];
    switch (part.step) {
      case Step::kBytes:
        at -= part.size;
        std::memcpy(at, key_.data() + part.begin, part.size);
        break;
      case Step::kVarint:
        put_varint(static_cast<std::uint64_t>(numbers[--number]));
        break;
      case Step::kDecimal:
        put_decimal(numbers[--number]);
        break;
      case Step::kClose:
        ends[depth++] = at;
        break;
      case Step::kOpen:
        put_varint(static_cast<std::uint64_t>(ends[--depth] - at));
        break;
    }
  }
  return {at, static_cast<std::size_t>(end - at)};
}

}  // namespace reprise
