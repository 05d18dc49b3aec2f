// What transfers are, in captures that lack a part or say it in another place:
// tests/converters/cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "converters/converter.h"
#include "converters/pytorch/rank/nccl.h"
#include "et_schema/trace_set.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string CasePath(const std::string& name) {
  return std::string(REPRISE_SOURCE_DIR) + "/tests/converters/cases/" + name;
}

struct ConvertedCase {
  ConvertReport report;
  TraceSet set;
  std::vector<LoadedTrace> ranks;
  [[nodiscard]] std::uint64_t CountOf(const std::string& counter) const {
    return report.diagnostics.CountOf(counter);
  }
  // The transfers of a rank, by their place in its file.
  [[nodiscard]] std::vector<CommSpec> Transfers(std::size_t rank) const {
    std::vector<CommSpec> out;
    for (const Node& node : ranks.at(rank).nodes) {
      if (node.comm) {
        out.push_back(*node.comm);
      }
    }
    return out;
  }
};

ConvertedCase ConvertCaptures(const std::string& from, const std::string& name, bool file = false) {
  ConvertedCase out;
  const std::string directory = FreshDirectory("case_" + name) + "/set";
  ConvertRequest request{.output_directory = directory};
  (file ? request.input_file : request.input_directory) = from;
  auto report = FindConverter("pytorch")->convert(request);
  EXPECT_TRUE(report) << report.error().message;
  if (!report) {
    return out;
  }
  out.report = std::move(*report);
  auto set = TraceSet::OpenPresent(directory);
  EXPECT_TRUE(set) << set.error().message;
  if (!set) {
    return out;
  }
  out.set = std::move(*set);
  for (const auto& [rank, path] : out.set.files) {
    auto trace = Load(path);
    EXPECT_TRUE(trace) << trace.error().message;
    out.ranks.push_back(std::move(*trace));
  }
  return out;
}

ConvertedCase TransferCase(const std::string& name) {
  return ConvertCaptures(CasePath(name), name);
}

// The case with `from` replaced by `to` in one rank's file; empty `to` removes.
ConvertedCase ConvertChanged(const std::string& name, const std::string& file,
                             const std::string& from, const std::string& to) {
  const std::string directory = FreshDirectory("changed_" + name);
  for (const auto& entry : std::filesystem::directory_iterator(CasePath(name))) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    std::string changed = text.str();
    if (entry.path().filename() == file) {
      EXPECT_NE(changed.find(from), std::string::npos) << from;
      for (std::size_t at = 0; (at = changed.find(from, at)) != std::string::npos;) {
        changed.replace(at, from.size(), to);
        at += to.size();
      }
    }
    WriteText(directory + "/" + entry.path().filename().string(), changed);
  }
  return ConvertCaptures(directory, "of_changed_" + name);
}

TEST(TransferCases, SendAndReceiveOfKinetoAlone) {
  const ConvertedCase done = TransferCase("08_send_recv_peers");
  ASSERT_THAT(done.Transfers(0), SizeIs(1));
  ASSERT_THAT(done.Transfers(1), SizeIs(1));
  const CommSpec send = done.Transfers(0)[0];
  const CommSpec receive = done.Transfers(1)[0];
  EXPECT_EQ(send.kind, CommKind::kSend);
  EXPECT_EQ(send.peer, 1);
  EXPECT_EQ(send.in_bytes, 2048);
  EXPECT_EQ(send.out_bytes, 0);
  EXPECT_EQ(receive.kind, CommKind::kRecv);
  EXPECT_EQ(receive.peer, 0);
  EXPECT_EQ(receive.in_bytes, 0);
  EXPECT_EQ(receive.out_bytes, 2048);
  EXPECT_EQ(done.CountOf("transfer_mismatch"), 0U);
}

// Without the global rank, the record's rank within the group says it; with neither, nothing does.
TEST(TransferCases, PeersFromTheGroup) {
  const auto done = ConvertChanged("08_send_recv_peers", "rank0.json", R"(, "Dst Rank": 1)", "");
  EXPECT_EQ(done.Transfers(0).at(0).peer, 1);
  const auto without =
      ConvertChanged("08_send_recv_peers", "rank0.json", R"(, "Rank": 1, "Dst Rank": 1)", "");
  EXPECT_EQ(LacksOf(without.Transfers(0).at(0)), "peer");
  EXPECT_EQ(without.CountOf("transfer_peer_unknown"), 1U);
  const auto other_key =
      ConvertChanged("08_send_recv_peers", "rank0.json", R"("Dst Rank": 1)", R"("Src Rank": 0)");
  EXPECT_EQ(other_key.Transfers(0).at(0).peer, 1) << "a send's source is itself";
}

TEST(TransferCases, RootsOfKinetoAlone) {
  const ConvertedCase done = TransferCase("09_roots");
  for (const std::size_t rank : {0U, 1U}) {
    const std::vector<CommSpec> transfers = done.Transfers(rank);
    ASSERT_THAT(transfers, SizeIs(2));
    EXPECT_EQ(transfers[0].kind, CommKind::kBroadcast);
    EXPECT_EQ(transfers[1].kind, CommKind::kReduce);
    EXPECT_EQ(transfers[0].root, 1);
    EXPECT_EQ(transfers[1].root, 1);
    EXPECT_EQ(transfers[0].in_bytes, rank == 1 ? 4096 : 0);
    EXPECT_EQ(transfers[1].out_bytes, rank == 1 ? 4096 : 0);
  }
  EXPECT_EQ(done.CountOf("transfer_mismatch"), 0U);
  const auto without = ConvertChanged("09_roots", "rank0.json", R"(, "Rank": 1)", "");
  EXPECT_EQ(LacksOf(without.Transfers(0).at(0)), "root");
  EXPECT_EQ(without.CountOf("transfer_root_unknown"), 2U);
}

TEST(TransferCases, AllToAllMovesWhatItsSplitsSay) {
  const ConvertedCase done = TransferCase("10_alltoall_sends_part");
  const CommSpec first = done.Transfers(0).at(0);
  const CommSpec second = done.Transfers(1).at(0);
  EXPECT_EQ(first.in_bytes, 156);
  EXPECT_EQ(first.out_bytes, 80);
  EXPECT_EQ(second.in_bytes, 80);
  EXPECT_EQ(second.out_bytes, 156);
  EXPECT_THAT(first.in_splits, ElementsAre(0, 39));
  EXPECT_EQ(done.CountOf("transfer_sends_part"), 2U);
}

TEST(TransferCases, ArgumentsDecideBeforeNames) {
  const ConvertedCase done = TransferCase("11_msccl");
  for (const std::size_t rank : {0U, 1U}) {
    ASSERT_THAT(done.Transfers(rank), SizeIs(1));
    const CommSpec spec = done.Transfers(rank)[0];
    EXPECT_EQ(spec.kind, CommKind::kAllReduce);
    EXPECT_EQ(spec.in_bytes, 2097152);
    EXPECT_EQ(spec.group, "0");
    EXPECT_EQ(spec.certainty, GroupCertainty::kRecorded);
  }
  EXPECT_EQ(done.CountOf("call_without_transfer"), 0U);
  const auto renamed = ConvertChanged(
      "11_msccl", "rank0.json", "mscclKernel_Sum_hip_bfloat16_Simple_false", "anything_at_all");
  EXPECT_EQ(renamed.Transfers(0).at(0).in_bytes, 2097152);
}

TEST(TransferCases, NamesOfOtherLibraries) {
  for (const char* name :
       {"mscclKernel_Sum_hip_bfloat16_Simple_false(ncclDevComm*)",
        "void vllm::cross_device_reduce_1stage<__half, 2>(vllm::RankData*)",
        "void deep_ep::intranode::dispatch<8, 768>(int4*)",
        "void c10d::symmetric_memory::(anonymous namespace)::one_shot_all_reduce_kernel<float>(x)",
        "hcom_allReduce__408_0_1"}) {
    EXPECT_TRUE(IsCommKernel(name)) << name;
    EXPECT_FALSE(IsNcclKernel(name)) << name;
  }
  for (const char* name : {"void at::native::reduce_kernel<512, 1, (anonymous namespace)>(x)",
                           "void gemm<nvshmem_like>(x)", "sm90_xmma_gemm_f32f32_tn"}) {
    EXPECT_FALSE(IsCommKernel(name)) << name;
  }
}

TEST(TransferCases, KindsInNamesOfOtherLibraries) {
  const std::pair<const char*, CommKind> kNames[] = {
      {"void c10d::(anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(x)",
       CommKind::kAllReduce},
      {"void c10d::symmetric_memory::(anonymous namespace)::one_shot_all_reduce_kernel<float>(x)",
       CommKind::kAllReduce},
      {"multimem_all_gather_kernel<16>(x)", CommKind::kAllGather},
      {"void vllm::cross_device_reduce_1stage<__half, 2>(vllm::RankData*)", CommKind::kAllReduce},
      {"hcom_allGather__408_0_1", CommKind::kAllGather},
      {"hcom_reduceScatter__408_0_1", CommKind::kReduceScatter},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", CommKind::kReduce}};
  for (const auto& [name, kind] : kNames) {
    EXPECT_EQ(ParseNcclName(name).kind, kind) << name;
  }
}

TEST(TransferCases, KernelWithoutAnything) {
  const ConvertedCase done = TransferCase("14_one_kernel_without_metadata");
  for (const std::size_t rank : {0U, 1U}) {
    const std::vector<CommSpec> transfers = done.Transfers(rank);
    ASSERT_THAT(transfers, SizeIs(2));
    EXPECT_EQ(transfers[0].kind, CommKind::kUnknown);
    EXPECT_FALSE(transfers[0].bytes_known);
    EXPECT_EQ(transfers[0].group, "");
    EXPECT_EQ(transfers[0].certainty, GroupCertainty::kUnknown);
    EXPECT_EQ(transfers[1].kind, CommKind::kAllReduce);
    EXPECT_EQ(transfers[1].in_bytes, 2097152);
    EXPECT_EQ(transfers[1].index, 0) << "the unknown one is no member of the group's sequence";
  }
  EXPECT_EQ(done.CountOf("transfer_kind_unknown"), 2U);
  EXPECT_EQ(done.CountOf("transfer_mismatch"), 0U);
}

TEST(TransferCases, LongListOfRanks) {
  const std::string file = CasePath("15_long_rank_list") + "/rank0.json";
  const ConvertedCase done = ConvertCaptures(file, "long_list", true);
  const CommSpec spec = done.Transfers(0).at(0);
  EXPECT_EQ(spec.certainty, GroupCertainty::kRecorded);
  const std::vector<std::int32_t>& ranks = done.set.groups.at(spec.group).ranks;
  ASSERT_THAT(ranks, SizeIs(64));
  EXPECT_EQ(ranks.front(), 0);
  EXPECT_EQ(ranks[1], 2);
  EXPECT_EQ(ranks.back(), 126);
}

TEST(TransferCases, LongListOfRanksWithoutTheRest) {
  std::stringstream text;
  text << std::ifstream(CasePath("15_long_rank_list") + "/rank0.json").rdbuf();
  std::string capture = text.str();
  const std::string rest = R"(, "Global rank start": 0, "Global rank stride": 2)";
  for (std::size_t at = 0; (at = capture.find(rest)) != std::string::npos;) {
    capture.erase(at, rest.size());
  }
  const std::string directory = FreshDirectory("cut_list");
  WriteText(directory + "/rank0.json", capture);
  const ConvertedCase done = ConvertCaptures(directory + "/rank0.json", "of_cut_list", true);
  const CommSpec spec = done.Transfers(0).at(0);
  EXPECT_EQ(spec.certainty, GroupCertainty::kUnknown);
  EXPECT_EQ(spec.group, "");
  EXPECT_EQ(spec.in_bytes, 2097152);
  EXPECT_EQ(done.CountOf("group_members_unknown"), 1U);
  for (const auto& [id, group] : done.set.groups) {
    EXPECT_FALSE(group.ranks.empty()) << id;
  }
}

TEST(TransferCases, SizeIsUnknownAndNotZero) {
  const ConvertedCase done = TransferCase("20_unknown_size_exported");
  for (const std::size_t rank : {0U, 1U}) {
    const CommSpec spec = done.Transfers(rank).at(0);
    EXPECT_EQ(spec.kind, CommKind::kAllReduce);
    EXPECT_FALSE(spec.bytes_known);
    EXPECT_EQ(LacksOf(spec), "size");
    EXPECT_EQ(spec.group, "0");
  }
  EXPECT_EQ(done.CountOf("transfer_size_unknown"), 2U);
}

// One member's record is enough where all members have the same.
TEST(TransferCases, SizeFromAnotherMember) {
  const auto done = ConvertChanged("11_msccl", "rank1.json",
                                   R"("In msg nelems": 1048576, "Out msg nelems": 1048576, )", "");
  EXPECT_EQ(done.Transfers(1).at(0).in_bytes, 2097152);
  EXPECT_EQ(done.CountOf("transfer_facts_from_members"), 1U);
  EXPECT_EQ(done.CountOf("transfer_size_unknown"), 0U);
}

TEST(TransferCases, DisagreementIsSaidWithItsValues) {
  const auto done = ConvertChanged("11_msccl", "rank1.json", "1048576", "1048580");
  EXPECT_EQ(done.CountOf("transfer_mismatch"), 1U);
  EXPECT_THAT(done.report.diagnostics.Snapshot().at("transfer_mismatch").examples.at(0),
              HasSubstr("bytes 2097152 on rank 0, 2097160 on rank 1"));
}

TEST(TransferCases, GroupInTheInputsOfTheRecord) {
  const ConvertedCase done = TransferCase("21_group_in_call");
  ASSERT_TRUE(done.set.groups.contains("0"));
  EXPECT_THAT(done.set.groups.at("0").ranks, ElementsAre(0, 1));
  for (const std::size_t rank : {0U, 1U}) {
    const std::vector<CommSpec> transfers = done.Transfers(rank);
    ASSERT_THAT(transfers, SizeIs(3));
    EXPECT_EQ(transfers[0].kind, CommKind::kBroadcast);
    EXPECT_EQ(std::max(transfers[0].in_bytes, transfers[0].out_bytes), 212480);
    EXPECT_EQ(transfers[0].root, 0);
    EXPECT_EQ(transfers[1].in_bytes, 8196000);
    EXPECT_EQ(transfers[2].in_bytes, 31502336);
    for (const CommSpec& spec : transfers) {
      EXPECT_EQ(spec.group, "0");
      EXPECT_EQ(spec.certainty, GroupCertainty::kRecorded);
      EXPECT_EQ(LacksOf(spec), "");
    }
  }
}

}  // namespace
}  // namespace reprise::pytorch
