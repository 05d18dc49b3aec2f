// Columns give back every byte of every file that they take, and nothing but an error for bytes
// that no encoder wrote.
#include "et_schema/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "et_schema/columns/block_coding.h"
#include "et_schema/columns/coding.h"
#include "et_schema/columns/known_texts.h"
#include "et_schema/wire_buffer.h"
#include "tests/et_schema/random_node.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

using testing::HasSubstr;

Result<std::string> Encode(const std::string& file, std::size_t piece = SIZE_MAX) {
  std::string columns;
  ColumnsEncoder encoder([&](std::string_view bytes) -> Status {
    columns += bytes;
    return {};
  });
  for (std::size_t at = 0; at < file.size(); at += std::min(piece, file.size() - at)) {
    REPRISE_TRY(encoder.Add(std::string_view(file).substr(at, piece)));
  }
  REPRISE_TRY(encoder.Finish());
  return columns;
}

Result<std::string> Decode(const std::string& columns, std::uint64_t bytes,
                           std::size_t piece = SIZE_MAX) {
  std::string file;
  ColumnsDecoder decoder(bytes, [&](std::string_view more) -> Status {
    file += more;
    return {};
  });
  for (std::size_t at = 0; at < columns.size(); at += std::min(piece, columns.size() - at)) {
    REPRISE_TRY(decoder.Add(std::string_view(columns).substr(at, piece)));
  }
  REPRISE_TRY(decoder.Finish());
  return file;
}

// The bytes of its columns; 0 and a failed test if they do not give it back.
std::size_t ThereAndBack(const std::string& file) {
  const auto columns = Encode(file);
  EXPECT_TRUE(columns) << columns.error().message;
  const auto back = columns ? Decode(*columns, file.size()) : columns;
  EXPECT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back && *back == file) << file.size() << " bytes come back differently";
  return columns ? columns->size() : 0;
}

std::string Framed(std::string_view message) {
  WireBuffer out;
  out.Varint(message.size());
  out.Bytes(message);
  return std::string(out.bytes());
}

std::string NodesOf(std::uint64_t seed, int count) {
  const ScratchDirectory scratch;
  RandomNodes random(seed);
  std::vector<Node> nodes;
  nodes.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    nodes.push_back(random.Next());
  }
  EXPECT_TRUE(WriteTrace(scratch.File("a.0.et"), nodes));
  return ReadFile(scratch.File("a.0.et"));
}

// A thread's operations one after the other, as an iteration repeats them.
std::string RegularTrace(int count) {
  const ScratchDirectory scratch;
  std::mt19937_64 random(3);
  std::vector<Node> nodes;
  nodes.reserve(static_cast<std::size_t>(count));
  std::int64_t end_ns = 0;
  for (int i = 0; i < count; ++i) {
    Node node = MakeNode(static_cast<std::uint64_t>(i), 0);
    node.name = "op" + std::to_string(i % 7);
    if (i > 0) {
      node.deps = {{.node_id = static_cast<std::uint64_t>(i) - 1, .reason = EdgeReason::kThread}};
    }
    node.delay_ns = 1000 + static_cast<std::int64_t>(random() % 64);
    node.start_ns = end_ns + node.delay_ns;
    node.duration_ns = 10000 * (1 + i % 7) + static_cast<std::int64_t>(random() % 64);
    end_ns = node.start_ns + node.duration_ns;
    nodes.push_back(node);
  }
  EXPECT_TRUE(WriteTrace(scratch.File("a.0.et"), nodes));
  return ReadFile(scratch.File("a.0.et"));
}

TEST(Columns, NodesOfEveryShape) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const int count : {0, 1, 2, 40, 600}) {
      ThereAndBack(NodesOf(seed, count));
    }
  }
}

TEST(Columns, ARegularTraceCostsItsRandomBitsOnly) {
  constexpr int kNodes = 4000;
  const std::string file = RegularTrace(kNodes);
  const std::size_t columns = ThereAndBack(file);
  // Duration and delay have six random bits each; starts, micros, deps, names follow.
  EXPECT_LT(columns, kNodes * 14 / 8);
  EXPECT_GT(columns, kNodes * 12 / 8);
}

TEST(Columns, InPiecesAndAgainTheSame) {
  const std::string file = NodesOf(4, 100);
  const auto whole = Encode(file);
  ASSERT_TRUE(whole);
  EXPECT_EQ(*Encode(file, 1), *whole);
  EXPECT_EQ(*Decode(*whole, file.size(), 1), file);
  EXPECT_EQ(*Encode(""), "");
  EXPECT_EQ(*Decode("", 0), "");
}

// Random protobuf, right and wrong: known and unknown fields of all wire types at random depths.
class RandomWire {
 public:
  explicit RandomWire(std::uint64_t seed) : random_(seed) {}
  std::uint64_t Below(std::uint64_t limit) { return random_() % limit; }
  std::string Message(int depth) {
    WireBuffer out;
    for (std::uint64_t fields = Below(6); fields > 0; --fields) {
      AddField(depth, out);
    }
    return std::string(out.bytes());
  }

 private:
  void AddField(int depth, WireBuffer& out) {
    const auto field = static_cast<std::uint32_t>(1 + Below(Below(8) == 0 ? 1 << 20 : 32));
    switch (Below(9)) {
      case 0:
      case 1:
        return out.VarintField(field, random_() >> Below(64));
      case 2:
        return out.Fixed64Field(field, random_());
      case 3:
        return out.Fixed32Field(field, static_cast<std::uint32_t>(random_()));
      case 4:
        return out.BytesField(field, std::string(Below(20), static_cast<char>(Below(256))));
      case 5:
        return out.Nested(field, [&] {
          for (std::uint64_t i = Below(9); i > 0; --i) {
            out.Varint(random_() >> Below(64));
          }
        });
      case 6:  // longer than needed
        out.Tag(field, WireType::kVarint);
        return out.Bytes(std::string("\x85\x80\x00", 3));
      case 7:
        out.Tag(field, WireType::kGroupStart);
        out.VarintField(1, 5);
        return out.Tag(field, WireType::kGroupEnd);
      default:
        return depth > 0 ? out.BytesField(Below(2) == 0 ? 10 : field, Message(depth - 1)) : void();
    }
  }
  std::mt19937_64 random_;
};

TEST(Columns, AnyProtobufAndNone) {
  RandomWire random(7);
  for (int round = 0; round < 200; ++round) {
    std::string file;
    for (std::uint64_t messages = random.Below(40); messages > 0; --messages) {
      std::string message = random.Message(4);
      if (random.Below(10) == 0 && !message.empty()) {  // cut, or bent
        message[random.Below(message.size())] = static_cast<char>(random.Below(256));
        message.resize(message.size() - random.Below(2));
      }
      file += Framed(message);
    }
    ThereAndBack(file);
  }
}

// Names of what turns out to be no attribute were kept once, and made more texts than the file had.
TEST(Columns, AttributesThatAreNone) {
  std::string file = Framed("");
  for (char name = 'a'; name < 'k'; ++name) {
    WireBuffer attribute;
    attribute.BytesField(1, std::string(30, name));
    attribute.BytesField(1, std::string(31, name));
    attribute.Tag(2, WireType::kGroupStart);
    WireBuffer node;
    node.BytesField(10, attribute.bytes());
    file += Framed(node.bytes());
  }
  ThereAndBack(file);
}

TEST(Columns, LargeTextsAndLists) {
  WireBuffer node;
  node.VarintField(1, UINT64_MAX);
  node.BytesField(2, std::string(3'000'000, 'x'));
  node.Nested(5, [&] {
    for (std::uint64_t i = 0; i < 300'000; ++i) {
      node.Varint(i * i);
    }
  });
  ThereAndBack(Framed("") + Framed(node.bytes()) + Framed(node.bytes()));
}

TEST(Columns, ManyBlocks) {
  std::string file = Framed("");
  for (std::uint64_t i = 0; i < 150'000; ++i) {
    WireBuffer node;
    node.VarintField(1, i);
    node.BytesField(2, "an operation's name");
    file += Framed(node.bytes());
  }
  EXPECT_LT(ThereAndBack(file), 1000U);
}

// Blocks end at the same message however the file comes.
TEST(Columns, BlocksOfLargeMessages) {
  std::mt19937_64 random(9);
  std::string file = Framed("");
  for (int i = 0; i < 9; ++i) {
    WireBuffer node;
    node.BytesField(2, std::string(random() % 7'000'000, static_cast<char>('a' + i)));
    file += Framed(node.bytes());
  }
  EXPECT_GT(file.size(), columns::kMostBlockBytes);
  ThereAndBack(file);
  EXPECT_EQ(*Encode(file, 100'000), *Encode(file));
  WireBuffer node;
  node.BytesField(2, std::string(columns::kMostBlockBytes, 'x'));
  EXPECT_THAT(Encode(Framed("") + Framed(node.bytes())).error().message, HasSubstr("up to 15 MiB"));
}

TEST(Columns, WhatTheyCannotHold) {
  const std::string file = NodesOf(5, 10);
  EXPECT_FALSE(Encode(file.substr(0, file.size() - 1)));
  EXPECT_FALSE(Encode(file + '\xff'));
  // A length that is longer than needed would come back shorter.
  EXPECT_THAT(Encode(std::string("\x82\x00\x08\x01", 4)).error().message,
              HasSubstr("no sequence of messages"));
  std::string varied = Framed("");
  for (std::uint32_t field = 1; field < 2000; ++field) {
    WireBuffer node;
    node.VarintField(field, 1);
    varied += Framed(node.bytes());
  }
  EXPECT_THAT(Encode(varied).error().message, HasSubstr("kinds of fields"));
}

TEST(Columns, CutAnywhereIsAnError) {
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

TEST(Columns, BentBytesNeverMakeMore) {
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

TEST(Columns, CountsBeyondAllBytes) {
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
TEST(Columns, PartsOfPartsEndWithTheBytes) {
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

TEST(Columns, APartOfItself) {
  using columns::Use;
  ByHand hand(1000, 1);
  hand.Add(Use::kCount, 1);
  hand.Field(5, 10 << 3 | 2);
  hand.Add(Use::kCount, 1);
  hand.Shape({0});
  EXPECT_THAT(hand.Error(), HasSubstr("a part is out of range"));
}

TEST(Columns, BlocksLargerThanTheyMayBe) {
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
