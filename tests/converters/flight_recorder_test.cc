// Dumps of PyTorch's flight recorder: pickles, what is refused of them, and what becomes of
// entries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "converters/converter.h"
#include "converters/flight_recorder/dump.h"
#include "converters/flight_recorder/dump_transfers.h"
#include "converters/flight_recorder/pickle.h"
#include "core/input_file.h"
#include "synthetic_capture.h"

namespace reprise::flight_recorder {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;  // NOLINT: texts with zero bytes

const std::string kBegin = "\x80\x02"s;

std::string ErrorOf(const std::string& text) {
  const TextFile file = TextFile::FromText("dump", text);
  DumpValues values;
  const auto value = ReadPickle(file, values);
  return value ? "" : value.error().message;
}

TEST(Pickle, ReadsPlainDataOfEachProtocol) {
  for (const char protocol : {'\2', '\3', '\4', '\5'}) {
    std::string text = "\x80"s + protocol;
    text += "}("s;                                    // {
    text += "X\1\0\0\0aK\7"s;                         // "a": 7
    text += "\x8c\1bM\1\2"s;                          // "b": 513
    text += "U\1cJ\xff\xff\xff\xff"s;                 // "c": -1
    text += "X\1\0\0\0d\x8a\x08\0\0\0\0\0\0\0\x80"s;  // "d": −2^63
    text += "X\1\0\0\0eG\x3f\xe0\0\0\0\0\0\0"s;       // "e": 0.5
    text += "X\1\0\0\0f](K\1K\2e"s;                   // "f": [1, 2]
    text += "X\1\0\0\0g\x88\x89\x86"s;                // "g": (True, False)
    text += "X\1\0\0\0hNu."s;                         // "h": None}
    const TextFile file = TextFile::FromText("dump", text);
    DumpValues values;
    const auto root = ReadPickle(file, values);
    ASSERT_TRUE(root) << root.error().message;
    const auto at = [&](std::string_view key) { return values.Find(*root, key); };
    EXPECT_EQ(values.Integer(at("a")), 7);
    EXPECT_EQ(values.Integer(at("b")), 513);
    EXPECT_EQ(values.Integer(at("c")), -1);
    EXPECT_EQ(values.Integer(at("d")), INT64_MIN);
    EXPECT_EQ(values.Number(at("e")), 0.5);
    EXPECT_EQ(values.ItemsOf(at("f")).size(), 2U);
    EXPECT_EQ(values.At(values.ItemsOf(at("g")).front()).integer, 1);
    EXPECT_EQ(values.At(at("h")).kind, DumpValue::Kind::kNone);
    EXPECT_EQ(at("none"), kNoValue);
  }
}

TEST(Pickle, RefusesWhatMakesObjectsByNameAndByte) {
  EXPECT_THAT(ErrorOf(kBegin + "cos\nsystem\n."), HasSubstr("dump: byte 2: the opcode GLOBAL"));
  EXPECT_THAT(ErrorOf(kBegin + "NNR."), HasSubstr("byte 4: the opcode REDUCE"));
  for (const auto& [code, name] : {std::pair{'\x93', "STACK_GLOBAL"},
                                   {'\x81', "NEWOBJ"},
                                   {'\x92', "NEWOBJ_EX"},
                                   {'b', "BUILD"},
                                   {'i', "INST"},
                                   {'o', "OBJ"},
                                   {'P', "PERSID"},
                                   {'Q', "BINPERSID"},
                                   {'\x82', "EXT1"}}) {
    EXPECT_THAT(ErrorOf(kBegin + "NN" + code + "."), HasSubstr(name));
  }
  EXPECT_THAT(ErrorOf(kBegin + "\xff."), HasSubstr("0xff is no opcode"));
}

TEST(Pickle, DamageHasAByteAndAReason) {
  EXPECT_THAT(ErrorOf("\x80\x01N."), HasSubstr("protocol 2 to 5"));
  EXPECT_THAT(ErrorOf(kBegin + "]"), HasSubstr("byte 3: the pickle ends before its STOP"));
  EXPECT_THAT(ErrorOf(kBegin + "X\xff\xff\xff\xff"
                               "a."),
              HasSubstr("more than the file has"));
  EXPECT_THAT(ErrorOf(kBegin + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s), HasSubstr("more than"));
  EXPECT_THAT(ErrorOf(kBegin + "K"), HasSubstr("more than the file has"));
  EXPECT_THAT(ErrorOf(kBegin + "."), HasSubstr("STOP without a value"));
  EXPECT_THAT(ErrorOf(kBegin + "(N."), HasSubstr("STOP without a value"));
  EXPECT_THAT(ErrorOf(kBegin + "h\5."), HasSubstr("refers to value 5"));
  EXPECT_THAT(ErrorOf(kBegin + "e."), HasSubstr("needs a MARK"));
  EXPECT_THAT(ErrorOf(kBegin + "}(Nu."), HasSubstr("key that has no value"));
  EXPECT_THAT(ErrorOf(kBegin + "}Na."), HasSubstr("appends to what is no list"));
  EXPECT_THAT(ErrorOf(kBegin + "](Na."), HasSubstr("of nothing"));
  EXPECT_THAT(ErrorOf(kBegin + "N\x86."), HasSubstr("tuple of more values"));
  EXPECT_THAT(ErrorOf(kBegin + "U\1\xff."), HasSubstr("not UTF-8"));
  EXPECT_THAT(ErrorOf(kBegin + "\x8a\x09"
                               "123456789."),
              HasSubstr("more than 64 bits"));
}

// A value that holds itself, and one that stands for 2^40 of the same.
TEST(Pickle, LoopsAndBombsEnd) {
  const std::string loop = kBegin + "}q\0X\7\0\0\0entriesh\0s."s;
  Diagnostics diagnostics;
  EXPECT_FALSE(ReadDump(TextFile::FromText("loop", kBegin + "]q\0h\0a."s), diagnostics));
  EXPECT_FALSE(
      ReadDump(TextFile::FromText("loop", kBegin + "}q\0X\7\0\0\0entries]h\0as."s), diagnostics)
          ->entries.empty());
  std::string bomb = kBegin + "]K\1a"s;  // of lists, each twice the one before
  for (char i = 0; i < 40; ++i) {
    bomb += "q"s + i + "](h"s + i + "h"s + i + "e"s;
  }
  EXPECT_EQ(ErrorOf(bomb + "."), "");
  // Deep, and no recursion over it.
  EXPECT_EQ(ErrorOf(kBegin + std::string(1'000'000, ']') + std::string(999'999, 'a') + "."), "");

  InputLimits limits = CurrentInputLimits();
  const InputLimits before = limits;
  limits.values = 1000;
  SetInputLimits(limits);
  EXPECT_THAT(ErrorOf(kBegin + std::string(2000, ']') + "."), HasSubstr("values"));
  // Entries that share one long list of sizes.
  std::string shared = kBegin + "}(X\7\0\0\0version U\0032.5"s;
  shared = kBegin + "]("s + std::string(500, 'N') + "eq\0"s +
           "0}(X\7\0\0\0entries](}(X\x0b\0\0\0input_sizesh\0u"s;
  for (int i = 0; i < 200; ++i) {
    shared += "}(X\x0b\0\0\0input_sizesh\0u"s;
  }
  const auto dump = ReadDump(TextFile::FromText("shared", shared + "eu."), diagnostics);
  ASSERT_FALSE(dump);
  EXPECT_THAT(dump.error().message, HasSubstr("refer to each other"));
  SetInputLimits(before);
}

DumpEntry Entry(const std::string& name, std::int64_t collective, std::int64_t p2p = 0) {
  return {.group = "0",
          .group_description = "default_pg",
          .collective = collective,
          .p2p = p2p,
          .name = name,
          .inputs = {{.elements = 8, .dtype = DType::kFloat32}},
          .outputs = {{.elements = 8, .dtype = DType::kFloat32}},
          .created_ns = 1'000 + collective};
}

Dump DumpOf(std::vector<DumpEntry> entries) {
  return {.form = "pickle",
          .version = "2.5",
          .rank = 1,
          .groups = {{.name = "0", .description = "default_pg", .ranks = {0, 1, 2, 3}}},
          .entries = std::move(entries)};
}

TEST(FlightRecorder, OneLaunchGivesItsPartsItsTimes) {
  std::vector<DumpEntry> entries = {Entry("nccl:all_reduce", 1), Entry("nccl:send 1->2", 1, 1),
                                    Entry("nccl:recv 1<-0", 1, 1), Entry("nccl:coalesced", 1, 1),
                                    Entry("nccl:all_gather_into_tensor_coalesced", 2, 1)};
  entries[0].state = entries[1].state = entries[2].state = TransferState::kScheduled;
  entries[3].inputs.clear();
  entries[3].outputs.clear();
  entries[3].duration_ns = 500;
  entries[3].noticed_end_ns = 9'000;
  const auto rank = TransfersOf(DumpOf(entries), "dump");
  ASSERT_EQ(rank.transfers.size(), 4U);
  EXPECT_EQ(rank.diagnostics.CountOf("coalesced_launch"), 1U);
  EXPECT_EQ(rank.transfers[0].spec.state, TransferState::kScheduled);
  EXPECT_EQ(rank.transfers[0].duration_ns, -1);
  for (const std::size_t i : {1, 2}) {
    EXPECT_EQ(rank.transfers[i].spec.state, TransferState::kCompleted);
    EXPECT_EQ(rank.transfers[i].duration_ns, 500);
    EXPECT_EQ(rank.transfers[i].spec.noticed_end_ns, 9'000);
  }
  EXPECT_EQ(rank.transfers[1].spec.peer, 2);
  EXPECT_EQ(rank.transfers[1].spec.in_bytes, 32);
  EXPECT_EQ(rank.transfers[1].spec.out_bytes, 0);
  EXPECT_EQ(rank.transfers[2].spec.peer, 0);
  EXPECT_EQ(rank.transfers[3].spec.kind, CommKind::kAllGather);
}

TEST(FlightRecorder, LaunchesOfAKindHaveNoTensors) {
  std::vector<DumpEntry> entries = {
      Entry("nccl:_broadcast_oop", 1), Entry("nccl:_broadcast_oop", 1),
      Entry("nccl:ALLGATHER_coalesced", 1), Entry("nccl:allreduce_coalesced", 2)};
  entries[2].inputs = entries[2].outputs = {{.elements = 1, .dtype = DType::kFloat32}};
  entries[2].duration_ns = 700;
  const auto rank = TransfersOf(DumpOf(entries), "dump");
  ASSERT_EQ(rank.transfers.size(), 3U);
  EXPECT_EQ(rank.transfers[1].duration_ns, 700);
  EXPECT_EQ(rank.transfers[2].spec.kind, CommKind::kAllReduce);
}

TEST(FlightRecorder, WhatIsNotRecordedStaysUnknown) {
  DumpEntry untyped = Entry("nccl:all_reduce", 1);
  untyped.inputs[0].dtype = untyped.outputs[0].dtype = DType::kUnknown;
  DumpEntry huge = Entry("nccl:all_reduce", 2);
  huge.inputs[0].elements = -1;
  DumpEntry gather = Entry("nccl:gather", 3);
  gather.outputs.clear();
  DumpEntry scatter = Entry("nccl:scatter", 4);
  DumpEntry gloo = Entry("gloo:broadcast", 5);
  gloo.retired = true;
  gloo.state = TransferState::kScheduled;
  const auto rank = TransfersOf(
      DumpOf({untyped, huge, gather, scatter, gloo, Entry("nccl:something", 6)}), "dump");
  EXPECT_FALSE(rank.transfers[0].spec.bytes_known);
  EXPECT_FALSE(rank.transfers[1].spec.bytes_known);
  EXPECT_FALSE(rank.transfers[2].is_root);
  EXPECT_TRUE(rank.transfers[3].is_root);
  EXPECT_EQ(rank.transfers[4].spec.state, TransferState::kCompleted);
  EXPECT_EQ(rank.transfers[4].spec.root, -1);
  EXPECT_EQ(rank.transfers[5].spec.kind, CommKind::kUnknown);
}

TEST(FlightRecorder, ValuesOfWrongTypesAreAbsentAndCounted) {
  const std::string text =
      R"({"version": "3.1", "pg_config": {"0": {"name": "0", "desc": "d", "ranks": [0, 1]}},
          "entries": [{"profiling_name": "nccl:all_reduce", "collective_seq_id": "12",
                       "p2p_seq_id": {}, "process_group": ["0", "d"], "duration_ms": -1,
                       "state": "dreaming", "input_sizes": [["4", 2]], "input_dtypes": "float32",
                       "output_sizes": [[8]], "output_dtypes": ["Float"], "future": [1]}]})";
  Diagnostics diagnostics;
  const auto dump = ReadDump(TextFile::FromText("dump", text), diagnostics);
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(diagnostics.CountOf("recorder_value_unreadable"), 3U);
  EXPECT_EQ(diagnostics.CountOf("recorder_version_newer"), 1U);
  const DumpEntry& entry = dump->entries.at(0);
  EXPECT_EQ(entry.collective, 12);
  EXPECT_EQ(entry.duration_ns, -1);
  EXPECT_EQ(entry.state, TransferState::kScheduled);
  EXPECT_EQ(entry.inputs.at(0).elements, 8);
  EXPECT_EQ(entry.inputs.at(0).dtype, DType::kFloat32);
}

TEST(FlightRecorder, OthersFilesAreNoDumps) {
  Diagnostics diagnostics;
  for (const std::string& text : {"{\"a\": 1}"s, kBegin + "K\1."s, kBegin + "}."s}) {
    const auto dump = ReadDump(TextFile::FromText("other", text), diagnostics);
    ASSERT_FALSE(dump);
    EXPECT_THAT(dump.error().message, HasSubstr("other: holds no dump"));
  }
}

}  // namespace
}  // namespace reprise::flight_recorder
