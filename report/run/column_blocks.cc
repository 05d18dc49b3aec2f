#include "report/run/column_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace reprise {
namespace {

// All arithmetic is of unsigned numbers, which wrap around: any values can be told apart.
using Word = std::uint64_t;

// How a column's bytes begin.
struct ColumnHead {
  std::uint8_t differences = 0;  // 1: from each value to the next; `first` is the first value
  std::uint8_t width = 0;        // bytes of each number
  Word first = 0;
  Word least = 0;  // of the numbers, as a signed one; what is stored counts from it
};
constexpr std::size_t kHeadBytes = 2 + 2 * sizeof(Word);

struct Range {
  std::int64_t least = INT64_MAX, most = INT64_MIN;

  void Add(std::int64_t value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  [[nodiscard]] std::uint8_t Width() const {
    const Word span = least > most ? 0 : static_cast<Word>(most) - static_cast<Word>(least);
    return static_cast<std::uint8_t>((std::bit_width(span) + 7) / 8);
  }
};

std::int64_t Difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<Word>(b) - static_cast<Word>(a));
}

void AppendColumn(std::span<const std::int64_t> values, std::string& out) {
  Range of_values, of_differences;
  for (std::size_t i = 0; i < values.size(); ++i) {
    of_values.Add(values[i]);
    if (i > 0) {
      of_differences.Add(Difference(values[i - 1], values[i]));
    }
  }
  const bool differences = of_differences.Width() < of_values.Width();
  const Range& range = differences ? of_differences : of_values;
  const Word least = range.least > range.most ? 0 : static_cast<Word>(range.least);
  const auto first = static_cast<Word>(values.front());
  out += static_cast<char>(differences ? 1 : 0);
  out += static_cast<char>(range.Width());
  out.append(reinterpret_cast<const char*>(&first), sizeof(first));
  out.append(reinterpret_cast<const char*>(&least), sizeof(least));
  for (std::size_t i = differences ? 1 : 0; i < values.size(); ++i) {
    const Word number =
        static_cast<Word>(differences ? Difference(values[i - 1], values[i]) : values[i]) - least;
    out.append(reinterpret_cast<const char*>(&number), range.Width());
  }
}

ColumnHead ReadHead(const char* bytes) {
  ColumnHead head{.differences = static_cast<std::uint8_t>(bytes[0]),
                  .width = static_cast<std::uint8_t>(bytes[1])};
  std::memcpy(&head.first, bytes + 2, sizeof(head.first));
  std::memcpy(&head.least, bytes + 2 + sizeof(head.first), sizeof(head.least));
  return head;
}

template <std::size_t kWidth>
Word NumberAt(const char* bytes, std::size_t i) {
  Word number = 0;
  std::memcpy(&number, bytes + i * kWidth, kWidth);
  return number;
}

template <std::size_t kWidth>
void ReadNumbers(const ColumnHead& head, const char* bytes, std::span<std::int64_t> values) {
  if (head.differences == 0) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int64_t>(head.least + NumberAt<kWidth>(bytes, i));
    }
    return;
  }
  Word value = head.first;
  values[0] = static_cast<std::int64_t>(value);
  for (std::size_t i = 1; i < values.size(); ++i) {
    value += head.least + NumberAt<kWidth>(bytes, i - 1);
    values[i] = static_cast<std::int64_t>(value);
  }
}

using ReadWidth = void (*)(const ColumnHead&, const char*, std::span<std::int64_t>);
constexpr ReadWidth kReadWidths[] = {ReadNumbers<0>, ReadNumbers<1>, ReadNumbers<2>,
                                     ReadNumbers<3>, ReadNumbers<4>, ReadNumbers<5>,
                                     ReadNumbers<6>, ReadNumbers<7>, ReadNumbers<8>};

}  // namespace

void AppendColumnBlock(const std::vector<std::int64_t>& values, std::size_t columns,
                       std::size_t rows, std::string& out) {
  static_assert(std::endian::native == std::endian::little, "a number's first bytes are its least");
  for (std::size_t c = 0; c < columns; ++c) {
    AppendColumn({values.data() + c * kRowsOfBlock, rows}, out);
  }
}

bool ReadColumnBlock(std::string_view bytes, std::size_t columns, std::size_t rows,
                     std::vector<std::int64_t>& values) {
  values.resize(columns * kRowsOfBlock);
  for (std::size_t c = 0; c < columns; ++c) {
    if (rows == 0 || rows > kRowsOfBlock || bytes.size() < kHeadBytes) {
      return false;
    }
    const ColumnHead head = ReadHead(bytes.data());
    bytes.remove_prefix(kHeadBytes);
    if (head.differences > 1 || head.width > sizeof(Word) ||
        bytes.size() < (rows - head.differences) * head.width) {
      return false;
    }
    kReadWidths[head.width](head, bytes.data(), {values.data() + c * kRowsOfBlock, rows});
    bytes.remove_prefix((rows - head.differences) * head.width);
  }
  return bytes.empty();
}

}  // namespace reprise
