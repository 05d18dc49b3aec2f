// Columns give back every byte of every file that they take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "et_schema/columns/block.h"
#include "tests/et_schema/columns_of.h"

namespace reprise {
namespace {

using testing::HasSubstr;

// The bytes of its columns; 0 and a failed test if they do not give it back.
std::size_t ThereAndBack(const std::string& file) {
  const auto columns = Encode(file);
  EXPECT_TRUE(columns) << columns.error().message;
  const auto back = columns ? Decode(*columns, file.size()) : columns;
  EXPECT_TRUE(back) << back.error().message;
  EXPECT_TRUE(back && *back == file) << file.size() << " bytes come back differently";
  return columns ? columns->size() : 0;
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
  EXPECT_GT(file.size(), columns::kMaxBlockBytes);
  ThereAndBack(file);
  EXPECT_EQ(*Encode(file, 100'000), *Encode(file));
  WireBuffer node;
  node.BytesField(2, std::string(columns::kMaxBlockBytes, 'x'));
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

}  // namespace
}  // namespace reprise
