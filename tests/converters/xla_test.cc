// What XLA's instructions say of transfers, which runs of asynchronous operations belong together,
// and the walk through a profile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "converters/pytorch/xla/async_runs.h"
#include "converters/pytorch/xla/hlo_collective.h"
#include "converters/pytorch/xla/hlo_text.h"
#include "converters/pytorch/xla/operation_facts.h"
#include "converters/pytorch/xla/xla_text.h"
#include "converters/pytorch/xla/xspace_reader.h"
#include "text_pieces.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Groups = std::vector<std::vector<std::int64_t>>;

HloCollective Transfer(std::string_view text) {
  const auto found = ParseHloTransfer(text);
  EXPECT_TRUE(found) << text;
  return found.value_or(HloCollective());
}

TEST(HloText, NamesOpcodesAndOperands) {
  const auto text = ParseHloText(
      "ROOT %all-gather-done.2 = bf16[16,128]{1,0:T(8,128)(2,1)} "
      "all-gather-done((bf16[8,128]{1,0}, "
      "bf16[16,128]{1,0}) %all-gather-start.2), metadata={op_name=\"a = b(c)\"}");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->name, "all-gather-done.2");
  EXPECT_EQ(text->opcode, "all-gather-done");
  EXPECT_EQ(text->last_operand, "all-gather-start.2");
  for (const std::string_view other :
       {"", "fusion.3", "%a = ", "%a = f32[2]", "%a = (f32[2]", "%a = f32[2] add(", "a = b = c",
        "%a = f32[2] add (x)", "PjitFunction(step)"}) {
    EXPECT_FALSE(ParseHloText(other)) << other;
  }
}

TEST(HloText, OpcodesOfTransfers) {
  EXPECT_EQ(ParseHloOpcode("all-reduce").transfer, HloTransfer::kAllReduce);
  EXPECT_EQ(ParseHloOpcode("all-reduce-scatter").transfer, std::nullopt);
  EXPECT_EQ(ParseHloOpcode("collective-permute-start").part, HloPart::kStart);
  EXPECT_EQ(ParseHloOpcode("copy-done").transfer, std::nullopt);
  EXPECT_EQ(ParseHloOpcode("copy-done").part, HloPart::kDone);
  EXPECT_EQ(ParseHloOpcode("recv").part, HloPart::kStart);
  EXPECT_EQ(ParseHloOpcode("recv-done").part, HloPart::kDone);
}

TEST(HloText, SizesOfOperandsAndResults) {
  const HloCollective reduce = Transfer(
      "%r = (f32[4,8]{1,0:T(8,128)}, bf16[2]{0}) all-reduce(f32[4,8]{1,0} %a, bf16[2]{0} %b)");
  EXPECT_EQ(reduce.operand_bytes, 4 * 8 * 4 + 2 * 2);
  EXPECT_EQ(reduce.type, "f32");
  EXPECT_EQ(BytesOf(reduce, 7).out, reduce.operand_bytes);
  // Operands without shapes: the result says it, but for a -start, whose result is a tuple of both.
  const HloCollective gather = Transfer("%g = s4[6]{0} all-gather(%a), dimensions={0}");
  EXPECT_EQ(gather.operand_bytes, -1);
  EXPECT_EQ(gather.result_bytes, 3);
  EXPECT_EQ(BytesOf(gather, 3).in, 1);
  EXPECT_EQ(BytesOf(Transfer("%g = (s4[6], s4[12]) all-gather-start(%a)"), 2).in, -1);
  const HloCollective scatter = Transfer("%s = f32[2] reduce-scatter(f32[<=8] %a)");
  EXPECT_EQ(BytesOf(scatter, 4).in, 32);
  EXPECT_EQ(BytesOf(scatter, 4).out, 8);
  EXPECT_EQ(Transfer("%r = token[] send(f32[0] %a)").operand_bytes, 0);
  for (const std::string_view unknown : {"f128[2]", "f32[-1]", "f32[9999999999,9999999999]", "x"}) {
    EXPECT_LE(Transfer("%r = () all-reduce(" + std::string(unknown) + " %a)").operand_bytes, 0)
        << unknown;
  }
  // What moves is bytes, whatever it is; sums need the type.
  EXPECT_EQ(DTypeOf(Transfer("%g = u32[2] all-gather(u32[1] %a)")), DType::kUInt8);
  EXPECT_EQ(DTypeOf(Transfer("%g = u32[2] all-reduce(u32[2] %a)")), DType::kUnknown);
}

TEST(HloText, Groups) {
  const auto groups = [](const std::string& text, bool flattened = true) {
    return Transfer("%r = f32[2] all-reduce(f32[2] %a), channel_id=1, replica_groups=" + text +
                    (flattened ? ", use_global_device_ids=true" : ""));
  };
  EXPECT_EQ(groups("{{0,2},{1,3}}").groups, (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(groups("[4,2]<=[2,4]T(1,0)").groups, (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups("[2,3]<=[6]").groups, (Groups{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(groups("mesh['x'=2,'y'=1,'z'=2] {'x'}").groups, (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(groups("mesh['x'=2,'z'=2] {'z','x'}").groups, (Groups{{0, 2, 1, 3}}));
  EXPECT_TRUE(groups("{}", false).has_groups);
  for (const std::string text :
       {"{}", "[2,4]<=[6]", "[2,2]<=[4]T(0,1)", "[0,2]<=[0]", "[999999,999999]<=[1]", "[2,2]",
        "mesh['x'=2] {'y'}", "mesh['x'=2] {'x','x'}", "mesh['x'=4] {'x':(1)2}", "mesh['x'", "?"}) {
    EXPECT_FALSE(groups(text).has_groups) << text;
    EXPECT_THAT(groups(text).groups, IsEmpty()) << text;
  }
}

TEST(HloText, PairsOfPermutesAndSends) {
  EXPECT_THAT(
      Transfer("%p = f32[2] collective-permute(f32[2] %a), source_target_pairs={{0,1},{1,0}}")
          .pairs,
      ElementsAre(Pair(0, 1), Pair(1, 0)));
  EXPECT_THAT(Transfer("%s = (f32[2], u32[], token[]) send(f32[2] %a, token[] %t), channel_id=3, "
                       "frontend_attributes={_xla_send_recv_source_target_pairs=\"{{2,3}}\"}")
                  .pairs,
              ElementsAre(Pair(2, 3)));
}

TEST(HloCollective, MembersByAssignment) {
  HloCollective collective{.has_groups = true, .groups = {{0, 1}, {2, 3}}, .has_channel = true};
  collective.flattened = true;
  // Without an assignment ids are devices.
  EXPECT_THAT(GroupOf(collective, {}, 2).value(), ElementsAre(2, 3));
  EXPECT_FALSE(GroupOf(collective, {}, 4));
  // One replica of four partitions, which run on devices in another order.
  const HloAssignment reversed{.replicas = 1, .partitions = 4, .devices = {3, 2, 1, 0}};
  EXPECT_THAT(GroupOf(collective, reversed, 2).value(), ElementsAre(3, 2));
  // Two replicas of two partitions: [partition][replica].
  const HloAssignment both{.replicas = 2, .partitions = 2, .devices = {10, 11, 12, 13}};
  EXPECT_THAT(GroupOf(collective, both, 13).value(), ElementsAre(11, 13));
  collective.groups = {{0, 1}};
  collective.flattened = false;  // of replicas, over all partitions
  EXPECT_THAT(GroupOf(collective, both, 12).value(), ElementsAre(10, 12, 11, 13));
  collective.has_channel = false;  // of replicas, in the own partition
  EXPECT_THAT(GroupOf(collective, both, 12).value(), ElementsAre(12, 13));
  collective.kind = HloTransfer::kAllToAll;
  collective.has_channel = true;  // of partitions, in the own replica
  EXPECT_THAT(GroupOf(collective, both, 13).value(), ElementsAre(11, 13));
  collective.groups.clear();  // all of them
  EXPECT_THAT(GroupOf(collective, both, 10).value(), ElementsAre(10, 12));
  EXPECT_FALSE(GroupOf(collective, {}, 0));
  collective.pairs = {{0, 1}};
  EXPECT_EQ(PeersOf(collective, both, 11).target, 13);
  EXPECT_EQ(PeersOf(collective, both, 13).source, 11);
  EXPECT_EQ(PeersOf(collective, both, 13).target, -1);
  EXPECT_THAT(DevicesOf(collective, both, 11), ElementsAre(11, 13));
}

TEST(AsyncRuns, TheFirstThatBeganIsTheFirstWaitedFor) {
  AsyncRuns runs;
  runs.Done("g", 30, 35);  // of one that began before the profile
  for (const std::int64_t at : {40, 50, 90}) {
    runs.Begin("g", at);
  }
  runs.Done("g", 70, 75);
  runs.Done("g", 60, 65);
  runs.Own("g", 42);
  runs.Own("g", 52);
  EXPECT_EQ(runs.Settle(), 3);
  EXPECT_EQ(runs.ThatIsAwaited("g", 30), nullptr);
  ASSERT_NE(runs.ThatBegins("g", 40), nullptr);
  EXPECT_EQ(runs.ThatBegins("g", 40)->end_ns, 65);
  EXPECT_EQ(runs.ThatBegins("g", 50), runs.ThatIsAwaited("g", 70));
  EXPECT_EQ(runs.ThatBegins("g", 50), runs.ThatOwns("g", 52));
  EXPECT_EQ(runs.ThatBegins("g", 90), nullptr);  // nothing waits for it
  EXPECT_EQ(runs.ThatBegins("h", 40), nullptr);
}

TEST(XlaRank, AsOneNumber) {
  const XlaRank rank =
      XlaRank::Of(XlaRank{.index = 4'095, .first_rank = 1 << 20, .ranks = 1 << 20}.Number());
  EXPECT_EQ(rank.index, 4'095);
  EXPECT_EQ(rank.first_rank, 1 << 20);
  EXPECT_EQ(rank.ranks, 1 << 20);
}

TEST(OperationFacts, Details) {
  constexpr std::string_view kText = "regs:32 static_shared:16 grid:4,1,1 block:8,1,1";
  EXPECT_EQ(DetailOf(kText, "regs"), "32");
  EXPECT_EQ(DetailOf(kText, "shared"), "");
  EXPECT_EQ(DetailOf(kText, "block"), "8,1,1");
}

std::string Message(char number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// "plane.line.number=bytes" of each field.
std::string Walk(const std::string& text, std::size_t piece) {
  TextPieces source("in.xplane.pb", text, piece);
  XSpaceReader reader(source);
  std::string out;
  XSpaceField field;
  for (;;) {
    const auto more = reader.Next(field);
    if (!more) {
      return out + more.error().message;
    }
    if (!*more) {
      return out;
    }
    out += std::to_string(reader.plane()) + '.' + std::to_string(reader.line()) + '.' +
           std::to_string(field.field.number) + '=' + std::string(field.field.bytes) + ' ';
  }
}

TEST(XSpaceReader, AtAnyCut) {
  const std::string line = Message(4, "ev") + Message(2, "line");
  const std::string plane =
      Message(2, "/host:CPU") + Message(3, line) + Message(3, "") + "\x08\x05";
  const std::string text = Message(1, plane) + Message(1, "") + Message(4, "host");
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_EQ(Walk(text, piece), "0.-1.2=/host:CPU 0.0.4=ev 0.0.2=line 0.-1.1= -1.-1.4=host ");
  }
  for (std::size_t size = 1; size < text.size(); ++size) {
    const std::string walked = Walk(text.substr(0, size), 7);
    const bool whole = size == plane.size() + 2 || size == plane.size() + 4;
    EXPECT_EQ(walked.find("in.xplane.pb: byte ") == std::string::npos, whole) << size << walked;
  }
  EXPECT_THAT(Walk(Message(1, Message(3, "\x22\x09")), 9), HasSubstr("longer than what holds it"));
  EXPECT_THAT(Walk(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11), 9),
              HasSubstr("byte 0"));
}

TEST(XSpaceReader, KnowsItsOwn) {
  EXPECT_TRUE(BeginsAsXSpace(Message(1, Message(2, "/host:metadata"))));
  EXPECT_TRUE(BeginsAsXSpace(Message(1, "\x08\x03" + Message(2, "/device:TPU:0"))));
  for (const std::string& other :
       {std::string(), Message(1, ""), Message(1, Message(2, "metadata")), Message(2, "/host:CPU"),
        Message(1, Message(3, "/host:CPU")), std::string("\x0a")}) {
    EXPECT_FALSE(BeginsAsXSpace(other));
  }
}

}  // namespace
}  // namespace reprise::pytorch
