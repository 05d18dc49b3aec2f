// Columns that no encoder wrote: an error, never more bytes, memory or time than announced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "et_schema/columns/block_coding.h"
#include "et_schema/columns/coding.h"
#include "tests/et_schema/columns_of.h"

namespace reprise {
namespace {

using testing::HasSubstr;

TEST(ColumnsDamage, CutAnywhereIsAnError) {
  const std::string file = NodesOf(6, 60);
  const std::string columns = *Encode(file);
  for (std::size_t size = 0; size < columns.size(); size += 1 + columns.size() / 500) {
    EXPECT_FALSE(Decode(columns.substr(0, size), file.size())) << size;
  }
  EXPECT_FALSE(Decode(columns + '\0', file.size()));
  EXPECT_FALSE(Decode(columns + columns, file.size()));
  EXPECT_FALSE(Decode(columns, file.size() - 1));
  EXPECT_FALSE(Decode(columns, file.size() + 1));
}

TEST(ColumnsDamage, BentBytesNeverMakeMore) {
  const std::string file = NodesOf(7, 60);
  const std::string columns = *Encode(file);
  WireCursor cursor(columns);
  std::uint64_t text_bytes = 0;
  std::uint64_t number = 0;
  std::string_view codes;
  ASSERT_TRUE(cursor.Varint(number) && cursor.Varint(number) && cursor.Varint(text_bytes) &&
              cursor.Varint(number) && cursor.Take(text_bytes, codes));
  // Texts have no sum of their own: the package's covers them.
  const std::size_t codes_at = columns.size() - number;
  std::mt19937_64 random(8);
  int errors = 0;
  for (int round = 0; round < 600; ++round) {
    std::string bent = columns;
    for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      bent[codes_at + random() % number] ^= static_cast<char>(1 << random() % 8);
    }
    const auto out = Decode(bent, file.size());
    errors += out ? 0 : 1;
    EXPECT_TRUE(!out || out->size() == file.size());
  }
  EXPECT_GT(errors, 500);
}

// --- Blocks that no encoder writes, by hand.

struct ByHand {
  explicit ByHand(std::uint64_t bytes, std::uint64_t messages) : header{bytes, messages, 0, 0} {}
  void Add(columns::Use use, std::uint64_t number, std::uint64_t context = 0) {
    numbers(use, number, context);
  }
  // `kind` by number; those with an argument give it as coded: 0 is the next one never used.
  void Field(std::uint64_t kind, std::uint64_t tag, std::uint64_t argument = 0) {
    Add(columns::Use::kFieldKind, kind);
    Add(columns::Use::kFieldTag, tag, kind);
    if (kind == 5 || kind == 6) {
      Add(columns::Use::kFieldArgument, argument, kind);
    }
  }
  void Shape(const std::vector<std::uint64_t>& fields) {
    Add(columns::Use::kShapeLength, fields.size());
    std::uint64_t before = 0;
    for (const std::uint64_t field : fields) {
      Add(columns::Use::kShapeField, new_field.ToCode(field), before);
      before = field + 1;
    }
  }
  std::string Error() {
    encoder.Finish();
    std::string out;
    header.coded_bytes = codes.size();
    const Status status = columns::DecodeBlock(header, "", codes, out);
    return status ? "" : status.error().message;
  }
  columns::BlockHeader header;
  std::string codes;
  columns::Encoder encoder{codes};
  columns::Numbers<columns::Encoder> numbers{encoder};
  columns::NewIndex new_field{0};
};

TEST(ColumnsDamage, CountsBeyondAllBytes) {
  using columns::Use;
  ByHand fields(100, 1);
  fields.Add(Use::kCount, std::uint64_t{1} << 50);
  EXPECT_THAT(fields.Error(), HasSubstr("a count is out of range"));
  ByHand kind(100, 1);
  kind.Add(Use::kCount, 1);
  kind.Add(Use::kFieldKind, 8);
  EXPECT_THAT(kind.Error(), HasSubstr("no such kind"));
  ByHand tag(100, 1);
  tag.Add(Use::kCount, 1);
  tag.Field(0, 8 | 2);  // a varint cannot have a length
  EXPECT_THAT(tag.Error(), HasSubstr("a field's tag is none"));
  ByHand shape(100, 1);
  shape.Add(Use::kCount, 1);
  shape.Field(0, 8);
  shape.Add(Use::kCount, 0);
  shape.Add(Use::kCount, 1);
  shape.Add(Use::kShapeLength, UINT64_MAX);
  EXPECT_THAT(shape.Error(), HasSubstr("too many fields"));
  ByHand index(100, 1);
  index.Add(Use::kCount, 1);
  index.Field(0, 8);
  index.Add(Use::kCount, 0);
  index.Add(Use::kCount, 1);
  index.Add(Use::kShapeLength, 1);
  index.Add(Use::kShapeField, 7);
  EXPECT_THAT(index.Error(), HasSubstr("a field is out of range"));
}

// Parts of parts of parts, each several times: no time and memory beyond the bytes announced.
TEST(ColumnsDamage, PartsOfPartsEndWithTheBytes) {
  using columns::Use;
  constexpr std::uint64_t kParts = 7, kTimes = 200;
  ByHand hand(std::uint64_t{1} << 20, 1);
  hand.Add(Use::kCount, kParts + 1);
  hand.Field(0, 8);
  for (std::uint64_t part = 0; part < kParts; ++part) {
    hand.Field(5, 10 << 3 | 2);
  }
  hand.Add(Use::kCount, kParts);
  for (std::uint64_t part = 0; part < kParts; ++part) {
    hand.Shape(std::vector<std::uint64_t>(kTimes, part));
  }
  hand.Add(Use::kCount, 1);
  hand.Shape({kParts});
  hand.Add(Use::kCount, 0);
  for (int column = 0; column < 6; ++column) {
    hand.Add(Use::kPlanDetail, 0, 6);
  }
  for (std::uint64_t column = 0; column < 1 + 2 * (kParts + 1); ++column) {
    columns::ColumnPlan plan{.base = column == 0 ? columns::Base::kNew : columns::Base::kZero};
    columns::CodePlan(hand.numbers, plan);
  }
  hand.Add(Use::kShortIndex, 0, columns::Mix(0, 0));
  const std::clock_t begin = std::clock();
  EXPECT_THAT(hand.Error(), HasSubstr("more fields than the messages have bytes"));
  EXPECT_LT(std::clock() - begin, 5 * CLOCKS_PER_SEC);
}

TEST(ColumnsDamage, APartOfItself) {
  using columns::Use;
  ByHand hand(1000, 1);
  hand.Add(Use::kCount, 1);
  hand.Field(5, 10 << 3 | 2);
  hand.Add(Use::kCount, 1);
  hand.Shape({0});
  EXPECT_THAT(hand.Error(), HasSubstr("a part is out of range"));
}

TEST(ColumnsDamage, BlocksLargerThanTheyMayBe) {
  const auto header = [](std::uint64_t bytes, std::uint64_t messages, std::uint64_t texts,
                         std::uint64_t codes) {
    WireBuffer out;
    for (const std::uint64_t number : {bytes, messages, texts, codes}) {
      out.Varint(number);
    }
    return std::string(out.bytes());
  };
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  for (const std::string& bad :
       {header(kHuge, 1, 0, 8), header(100, kHuge, 0, 8), header(100, 0, 0, 8),
        header(100, 1, kHuge, 8), header(100, 1, 0, kHuge), header(5000, 1, 0, 8),
        std::string(60, '\xff')}) {
    EXPECT_THAT(Decode(bad, 4000).error().message, HasSubstr("damaged columns"));
  }
  // Many blocks of one message each: the second is refused, whatever it holds.
  const std::string one = Framed("\x08\x01");
  const std::string small = *Encode(one);
  EXPECT_THAT(Decode(small + small, 2 * one.size()).error().message, HasSubstr("larger"));
}

}  // namespace
}  // namespace reprise
