// PyTorch's traces in Perfetto's format, read as Kineto's events.
#include "converters/pytorch/perfetto/perfetto_text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "converters/converter.h"
#include "converters/pytorch/files/capture_names.h"
#include "core/input_file.h"
#include "packed.h"
#include "perfetto_packets.h"
#include "synthetic_capture.h"
#include "text_in_memory.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kBaseNs = 1'790'000'000'000'000'000;
constexpr std::uint64_t kHostTrack = 2;         // tracks
constexpr std::uint64_t kOverheadTrack = 4;     //
constexpr std::uint64_t kStreamTrack = 6;       //
constexpr std::uint64_t kOperatorCategory = 1;  // categories
constexpr std::uint64_t kRuntimeCategory = 2;   //
constexpr std::uint64_t kPythonCategory = 3;    //

Result<std::string> TextOf(std::string_view bytes) {
  const auto text = PerfettoAsJson(std::make_unique<TextInMemory>("t.pftrace", bytes));
  std::string out;
  char piece[4099];  // any size will do
  for (;;) {
    REPRISE_ASSIGN(const std::size_t got, text->Read(piece, sizeof(piece)));
    if (got == 0) {
      return out;
    }
    out.append(piece, got);
  }
}

Result<KinetoTrace> ReadPackets(const std::string& bytes, Diagnostics& diagnostics) {
  REPRISE_ASSIGN(const std::string text, TextOf(bytes));
  TextInMemory source("t.pftrace", text);
  return ReadKineto(source, true, diagnostics);
}

// What comes before the events.
PerfettoPackets Beginning() {
  PerfettoPackets packets;
  packets.At(kBaseNs, [](WireBuffer&) {});
  packets.Process(1, 4242, "python");
  packets.Thread(kHostTrack, 4242, 4243);
  packets.Process(3, 2147483647, "Overhead");
  packets.Thread(kOverheadTrack, 2147483647, 0);
  packets.Process(5, 0, "GPU 0");
  packets.Thread(kStreamTrack, 0, 7);
  packets.Texts(1, {"cpu_op", "cuda_runtime", "python_function"});
  packets.Texts(2, {"aten::mm", "aten::add", "cudaLaunchKernel", "gemm_nn", "Stream Sync",
                    "nn.Module: Linear_0", "Buffer Flush"});
  packets.Texts(24, {"Kernel", "Memcpy", "Memset", "[7] stream 7"});
  packets.Texts(1000, {"gemm_nn<float>"}, 3);
  packets.Texts(1001, {"registers_per_thread", "shared_mem_dynamic"});
  return packets;
}

std::vector<std::string> Shown(const KinetoTrace& trace) {
  std::vector<std::string> out;
  for (const KinetoEvent& event : trace.events) {
    out.push_back(fmt::format("{} {}-{} on {}", *event.name, event.start_ns - kBaseNs,
                              event.end_ns - kBaseNs, event.thread));
  }
  return out;
}

TEST(PerfettoText, AllBeginsThenAllEndsInTheSameOrder) {
  PerfettoPackets packets = Beginning();
  packets.Begin(kBaseNs + 1000, kHostTrack, 1, kOperatorCategory);
  packets.Begin(kBaseNs + 2001, kHostTrack, 2, kOperatorCategory);  // where the first ends
  packets.Begin(kBaseNs + 3000, kHostTrack, 1, kOperatorCategory);  // takes no time
  packets.Begin(kBaseNs + 4000, kHostTrack, 1, kOperatorCategory);
  packets.Begin(kBaseNs + 4000, kHostTrack, 2, kOperatorCategory);  // within, from the same time on
  packets.End(kBaseNs + 2001, kHostTrack);
  packets.End(kBaseNs + 3000, kHostTrack);
  packets.End(kBaseNs + 3000, kHostTrack);
  packets.End(kBaseNs + 9000, kHostTrack);
  packets.End(kBaseNs + 5000, kHostTrack);
  Diagnostics diagnostics;
  const auto trace = ReadPackets(packets.bytes(), diagnostics);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(Shown(*trace),
              ElementsAre("aten::mm 1000-2001 on 4243", "aten::add 2001-3000 on 4243",
                          "aten::mm 3000-3000 on 4243", "aten::mm 4000-9000 on 4243",
                          "aten::add 4000-5000 on 4243"));
  EXPECT_EQ(trace->process, 4242);
  EXPECT_EQ(diagnostics.CountOf("kineto_event_without_time"), 0U);
}

TEST(PerfettoText, SlicesInTheOrderOfTimeNest) {
  PerfettoPackets packets = Beginning();
  packets.Begin(kBaseNs + 1000, kHostTrack, 1, kOperatorCategory);
  packets.Begin(kBaseNs + 2000, kHostTrack, 2, kOperatorCategory);
  packets.End(kBaseNs + 2000, kHostTrack);
  packets.Begin(kBaseNs + 2000, kHostTrack, 2, kOperatorCategory);
  packets.End(kBaseNs + 3000, kHostTrack);
  packets.End(kBaseNs + 3000, kHostTrack);
  Diagnostics diagnostics;
  const auto trace = ReadPackets(packets.bytes(), diagnostics);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(Shown(*trace),
              ElementsAre("aten::mm 1000-3000 on 4243", "aten::add 2000-2000 on 4243",
                          "aten::add 2000-3000 on 4243"));
}

TEST(PerfettoText, BeginsWithoutEndsAreCounted) {
  PerfettoPackets packets = Beginning();
  packets.Begin(kBaseNs + 1000, kHostTrack, 1, kOperatorCategory);
  packets.Begin(kBaseNs + 2000, kHostTrack, 2, kOperatorCategory);
  packets.End(kBaseNs + 3000, kHostTrack);
  Diagnostics diagnostics;
  const auto trace = ReadPackets(packets.bytes(), diagnostics);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_THAT(Shown(*trace), ElementsAre("aten::add 2000-3000 on 4243"));
  EXPECT_EQ(diagnostics.CountOf("kineto_event_without_time"), 1U);
}

TEST(PerfettoText, AnnotationsAreArguments) {
  PerfettoPackets packets = Beginning();
  WireBuffer& out = packets.out();
  packets.Slice(kBaseNs + 1000, 1, kHostTrack, 1, kOperatorCategory, [&] {
    packets.Integer("External id", 17);
    packets.Integer("Sequence number", -1);
    out.Nested(4, [&] {
      out.BytesField(10, "Input Dims");
      out.Nested(12, [&] {
        for (const std::uint64_t size : {128, 64}) {
          out.Nested(12, [&] { out.VarintField(4, size); });
        }
      });
      out.Nested(12, [] {});  // an empty list
    });
    out.Nested(4, [&] {
      out.BytesField(10, "Input type");
      for (const char* type : {"float", "a \"b\"\n\\"}) {
        out.Nested(12, [&] { out.BytesField(6, type); });
      }
    });
    out.Nested(4, [&] {
      out.BytesField(10, "more");
      out.Nested(11, [&] {
        out.BytesField(10, "x");
        out.Fixed64Field(5, std::bit_cast<std::uint64_t>(0.5));
      });
      out.Nested(11, [&] {
        out.BytesField(10, "y");
        out.VarintField(2, 1);
      });
    });
  });
  packets.End(kBaseNs + 2000, kHostTrack);
  const auto text = TextOf(packets.bytes());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("\"args\":{\"External id\":17,\"Sequence number\":-1,"
                               "\"Input Dims\":[[128,64],[]],"
                               "\"Input type\":[\"float\",\"a \\\"b\\\"\\u000a\\\\\"],"
                               "\"more\":{\"x\":0.5,\"y\":true}}"));
}

TEST(PerfettoText, WorkOnAGpuHasItsLaunchAndStream) {
  PerfettoPackets packets = Beginning();
  WireBuffer& out = packets.out();
  packets.Begin(kBaseNs + 1000, kHostTrack, 1, kOperatorCategory);
  packets.Slice(kBaseNs + 1200, 1, kHostTrack, 3, kRuntimeCategory,
                [&] { packets.Integer("correlation", 9); });
  packets.Begin(kBaseNs + 1300, kHostTrack, 6, kPythonCategory);
  packets.End(kBaseNs + 9000, kHostTrack);
  packets.End(kBaseNs + 1250, kHostTrack);
  packets.End(kBaseNs + 1400, kHostTrack);
  packets.Begin(kBaseNs + 100, kOverheadTrack, 7);
  packets.End(kBaseNs + 200, kOverheadTrack);
  packets.Slice(kBaseNs + 6000, 1, kStreamTrack, 5, 0, [&] {
    packets.Integer("stream", 7);
    packets.Integer("correlation", 11);
    out.Nested(4, [&] {
      out.BytesField(10, "cuda_sync_kind");
      out.BytesField(6, "Stream Sync");
    });
  });
  packets.End(kBaseNs + 7000, kStreamTrack);
  packets.At(kBaseNs + 2000, [&](WireBuffer&) {
    out.Nested(53, [&] {
      out.VarintField(1, 1);
      out.VarintField(2, 2500);
      out.VarintField(11, 3);
      out.VarintField(13, 4);
      out.VarintField(14, 1);
      out.VarintField(20, 4);
      out.VarintField(19, 1);
      out.Nested(21, [&] {
        for (const std::uint32_t sizes : {1U, 2U}) {
          out.Nested(sizes, [&] {
            out.VarintField(1, 64 * sizes);
            out.VarintField(2, 2);
            out.VarintField(3, 1);
          });
        }
        for (const std::uint64_t argument : {1, 2}) {
          out.Nested(3, [&] {
            out.VarintField(1, argument);
            out.VarintField(4, 96);
          });
        }
      });
      packets.Extra("stream id", "7");
      packets.Extra("correlation", "9");
      packets.Extra("Process Group Ranks", "[0, 1]");
    });
  });
  packets.At(kBaseNs + 4600, [&](WireBuffer&) {
    out.Nested(53, [&] {
      out.VarintField(2, 100);
      out.VarintField(11, 3);
      out.VarintField(14, 2);
      packets.Extra("stream id", "7");
      packets.Extra("bytes", "4096");
    });
  });
  Diagnostics diagnostics;
  const auto trace = ReadPackets(packets.bytes(), diagnostics);
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->device.events.size(), 2U);
  const DeviceEvent& kernel = trace->device.events[0];
  EXPECT_EQ(*kernel.name, "gemm_nn<float>");
  EXPECT_EQ(kernel.device, 3);
  EXPECT_EQ(kernel.stream, 7);
  EXPECT_EQ(kernel.start_ns, kBaseNs + 2000);
  EXPECT_EQ(kernel.end_ns, kBaseNs + 4500);
  EXPECT_THAT(kernel.work.grid, ElementsAre(64, 2, 1));
  EXPECT_THAT(kernel.work.block, ElementsAre(128, 2, 1));
  EXPECT_EQ(kernel.work.registers_per_thread, 96);
  EXPECT_EQ(kernel.work.shared_memory_bytes, -1);  // the dynamic part is not all of it
  EXPECT_EQ(kernel.work.correlation, 9);
  EXPECT_EQ(trace->device.events[1].kind, DeviceEvent::Kind::kMemcpy);
  EXPECT_EQ(trace->device.events[1].work.copied_bytes, 4096);
  ASSERT_EQ(trace->device.calls.size(), 1U);
  EXPECT_EQ(trace->device.calls[0].correlation, 9);
  EXPECT_EQ(trace->device.calls[0].end_ns, kBaseNs + 1250);
  ASSERT_EQ(trace->device.syncs.size(), 1U);
  EXPECT_EQ(trace->device.syncs[0].correlation, 11);
  ASSERT_EQ(trace->modules.size(), 1U);
  EXPECT_EQ(trace->modules[0].end_ns, kBaseNs + 1400);
}

TEST(PerfettoText, CountersAreEventsOfTheirOwn) {
  PerfettoPackets packets = Beginning();
  packets.CounterNames(1, 2, {"Power (W)", "Temperature (C)"});
  packets.Sample(kBaseNs + 1500, 1, 0, 412.5);
  const auto text = TextOf(packets.bytes());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("{\"ph\":\"C\",\"name\":\"Power (W)\",\"pid\":\"GPU 2 Counters\","
                               "\"ts\":1.500,\"args\":{\"\":412.5}}"));
}

TEST(PerfettoText, IsKnownByItsContent) {
  PerfettoPackets packets = Beginning();
  packets.Begin(kBaseNs + 1000, kHostTrack, 1, kOperatorCategory);
  const FileHead head = SniffText(packets.bytes());
  EXPECT_EQ(head.kind, CaptureKind::kKineto);
  EXPECT_EQ(head.process, 4242);
  EXPECT_EQ(head.start_ns, kBaseNs + 1000);
  EXPECT_EQ(head.rank, -1);
  EXPECT_EQ(SniffText("\n{\"traceEvents\": [], \"baseTimeNanoseconds\": 5}").kind,
            CaptureKind::kKineto);
  for (const char* other : {"\n\n\n\n", "\n\x02\x08\x01", "\n\x05hello", "\n\x7f"}) {
    EXPECT_EQ(SniffText(other).kind, CaptureKind::kOther) << other;
  }
  EXPECT_TRUE(IsCaptureName("rank0.pftrace.gz"));
  EXPECT_EQ(RankInName("llama_rank-3.pftrace"), 3);
}

std::string ErrorOf(const std::string& bytes) {
  const auto text = TextOf(bytes);
  return text ? "" : text.error().message;
}

TEST(PerfettoText, DamageIsNamedWithItsByte) {
  PerfettoPackets packets = Beginning();
  const std::size_t at = packets.bytes().size();
  packets.Begin(kBaseNs + 1000, kHostTrack, 1, kOperatorCategory);
  const std::string whole = packets.bytes();
  EXPECT_THAT(ErrorOf(whole.substr(0, whole.size() - 1)),
              HasSubstr(fmt::format("t.pftrace: byte {} (unpacked): the file ends within", at)));
  EXPECT_THAT(ErrorOf(whole + "{}"),
              HasSubstr(fmt::format("byte {} (unpacked): a packet of Perfetto's trace format was "
                                    "expected",
                                    whole.size())));
  PerfettoPackets unknown = Beginning();
  unknown.Begin(kBaseNs, 99, 1, kOperatorCategory);
  EXPECT_THAT(ErrorOf(unknown.bytes()), HasSubstr("no packet before describes track 99"));
  PerfettoPackets text = Beginning();
  text.Begin(kBaseNs, kHostTrack, 99, kOperatorCategory);
  EXPECT_THAT(ErrorOf(text.bytes()), HasSubstr("a text that no packet before it has"));
  PerfettoPackets late = Beginning();
  late.Begin(INT64_MAX, kHostTrack, 1, kOperatorCategory);
  EXPECT_THAT(ErrorOf(late.bytes()), HasSubstr("ns is no time"));
  PerfettoPackets compressed = Beginning();
  compressed.Add([](WireBuffer& out) { out.BytesField(50, "x"); });
  EXPECT_THAT(ErrorOf(compressed.bytes()), HasSubstr("compressed packets"));
  EXPECT_THAT(ErrorOf("\n\xff\xff\xff\xff\x0f"), HasSubstr("string_bytes"));
}

TEST(PerfettoText, CutAnywhereAndChangedAnywhere) {
  PerfettoPackets packets = Beginning();
  packets.CounterNames(1, 0, {"Power (W)"});
  packets.Slice(kBaseNs + 1000, 1, kHostTrack, 1, kOperatorCategory,
                [&] { packets.Integer("correlation", 9); });
  packets.End(kBaseNs + 2000, kHostTrack);
  packets.Sample(kBaseNs + 1500, 1, 0, 412.5);
  const std::string whole = packets.bytes();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    for (const std::string& bytes : {whole.substr(0, i), changed}) {
      Diagnostics diagnostics;
      const auto trace = ReadPackets(bytes, diagnostics);
      if (!trace) {
        EXPECT_THAT(trace.error().message, HasSubstr("t.pftrace"));
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, whole.size());  // every cut but those between packets behind the operation
}

TEST(PerfettoText, ATextRepeatedByItsNumberIsBounded) {
  PerfettoPackets packets = Beginning();
  packets.Texts(29, {std::string(1 << 20, 'x')});
  WireBuffer& out = packets.out();
  packets.Slice(kBaseNs, 1, kHostTrack, 1, kOperatorCategory, [&] {
    for (int i = 0; i < 1000; ++i) {
      out.Nested(4, [&] {
        out.BytesField(10, "a");
        out.VarintField(17, 1);
      });
    }
  });
  EXPECT_THAT(ErrorOf(packets.bytes()), HasSubstr("string_bytes"));
  PerfettoPackets many = Beginning();
  many.Texts(2, {std::string(1 << 20, 'x')});
  for (int i = 0; i < 1000; ++i) {
    many.Begin(kBaseNs, kHostTrack, 1, kOperatorCategory);
  }
  EXPECT_THAT(ErrorOf(many.bytes()), HasSubstr("over the limit of 150 to 1"));
}

TEST(PerfettoText, AFileConvertsByItsContent) {
  PerfettoPackets packets = Beginning();
  packets.Begin(kBaseNs + 1000, kHostTrack, 1, kOperatorCategory);
  packets.End(kBaseNs + 2000, kHostTrack);
  const std::string directory = FreshDirectory("perfetto_text");
  for (const int rank : {0, 1}) {
    WriteText(fmt::format("{}/trace_rank-{}.pftrace", directory, rank), Gzip(packets.bytes()));
  }
  const ConverterKind* kind = SniffConverter(directory);
  ASSERT_NE(kind, nullptr);
  EXPECT_EQ(kind->name, "pytorch");
  const auto report =
      kind->convert({.input_directory = directory, .output_directory = directory + "/set"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->ranks.size(), 2U);
}

}  // namespace
}  // namespace reprise::pytorch
