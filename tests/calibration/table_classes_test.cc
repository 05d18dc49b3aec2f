// Tables of collectives, expert layers and reductions: read, fitted to known numbers, and all
// classes' bad input.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "predict/calibration/kernel_fits.h"
#include "predict/machine/catalogue.h"
#include "predict/machine/machine_file.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MachineModel Machine(const std::string& name = "h100-hgx") { return *LoadMachine(name); }

Result<KernelTable> ReadTable(const std::string& text) {
  const ScratchDirectory scratch;
  WriteFile(scratch.File("table.csv"), text);
  return ReadKernelTable(scratch.File("table.csv"), {});
}

// One of each class: a header that a built-in file of columns has, and a row.
struct Sample {
  std::string of_class, header, row, size;  // `size`: a column of whole numbers
};
const Sample kSamples[] = {
    {"gemm", "m,n,k,gemm_dtype,time_ms", "8,8,8,bfloat16,0.1", "k"},
    {"attention", "batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,time_ms",
     "2,8,4,4,16,bfloat16,0.1", "isl"},
    {"reduction", "m,k,quant_dtype,time_ms", "8,256,fp8,0.1", "k"},
    {"experts",
     "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,"
     "distribution,time_ms",
     "bfloat16,4,64,128,2,8,1,1,balanced,0.1", "topk"},
    {"collective", "op_name,nccl_dtype,num_gpus,elements,time_ms", "all_reduce,half,8,1024,0.1",
     "elements"},
};

std::vector<std::string> FieldsOfLine(const std::string& line) {
  std::vector<std::string> parts(1);
  for (const char c : line) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts) {
    line += (line.empty() ? "" : ",") + part;
  }
  return line;
}

// The sample's row with another field.
std::string RowWith(const Sample& sample, const std::string& column, const std::string& value) {
  const std::vector<std::string> header = FieldsOfLine(sample.header);
  std::vector<std::string> row = FieldsOfLine(sample.row);
  row[static_cast<std::size_t>(std::ranges::find(header, column) - header.begin())] = value;
  return Joined(row);
}

TEST(TableClasses, EachSampleIsRead) {
  for (const Sample& sample : kSamples) {
    const auto table = ReadTable(sample.header + "\n" + sample.row + "\n");
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(Name(table->of_class), sample.of_class);
    ASSERT_EQ(table->rows.size(), 1U);
    EXPECT_DOUBLE_EQ(table->rows[0].ns, 100'000);
  }
}

TEST(TableClasses, BadInputOfEachHasFileAndLine) {
  for (const Sample& sample : kSamples) {
    struct Case {
      std::string text, words;
    };
    const std::string begin = sample.header + "\n" + sample.row + "\n";
    std::vector<std::string> fewer = FieldsOfLine(sample.header);
    std::erase(fewer, sample.size);
    std::vector<Case> cases = {
        {Joined(fewer) + "\n" + sample.row + "\n", "line 1: no file of columns"},
        {begin + sample.row + ",1\n", "line 3: "}};
    for (const char* const time : {"0", "-1", "nan", "inf", "", "1e999", "0.1 ms"}) {
      cases.push_back({begin + RowWith(sample, "time_ms", time) + "\n", "line 3: time_ms is"});
    }
    for (const char* const size : {"0", "-3", "1.5", "nan", "", "99999999999999999999", "x"}) {
      cases.push_back(
          {begin + RowWith(sample, sample.size, size) + "\n", "line 3: " + sample.size + " is"});
    }
    cases.push_back({begin + RowWith(sample, "time_ms", "0.3") + "\n",
                     "line 3: 300 us, and 100 us in line 2 for the same shape"});
    for (const Case& c : cases) {
      const auto table = ReadTable(c.text);
      ASSERT_FALSE(table) << c.text;
      EXPECT_EQ(table.error().kind, ErrorKind::kBadInput);
      EXPECT_THAT(table.error().message, AllOf(HasSubstr("table.csv"), HasSubstr(c.words)));
    }
    // One row is too few for any class.
    const auto table = ReadTable(begin);
    ASSERT_TRUE(table);
    const ScratchDirectory scratch;
    WriteFile(scratch.File("few.csv"), begin);
    const auto fitted = FitTables(Machine(), *ReadTables({scratch.File("few.csv")}, {}), nullptr);
    ASSERT_FALSE(fitted) << sample.of_class;
    EXPECT_EQ(fitted.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(fitted.error().message,
                AllOf(HasSubstr("few.csv"), HasSubstr("1 row"), HasSubstr("50")));
  }
}

TEST(TableClasses, WhatACollectiveOrAnExpertLayerCannotBe) {
  const Sample& collective = kSamples[4];
  const Sample& experts = kSamples[3];
  for (const auto& [sample, column, value, words] :
       {std::tuple(&collective, "op_name", "transpose", "'transpose' is no collective"),
        {&collective, "op_name", "barrier", "no collective with a size"},
        {&collective, "num_gpus", "1", "1 members of a all_reduce"},
        {&experts, "topk", "9", "9 of 8 experts a token"},
        {&experts, "moe_ep_size", "3", "ep to divide experts"},
        {&experts, "moe_tp_size", "3", "tp the inner size"},
        {&experts, "distribution", "zipf", "distribution is 'zipf'"}}) {
    const auto table = ReadTable(sample->header + "\n" + RowWith(*sample, column, value) + "\n");
    ASSERT_FALSE(table) << value;
    EXPECT_THAT(table.error().message, AllOf(HasSubstr("line 2"), HasSubstr(words)));
  }
}

// The largest of each 128 elements: all are read, 1 in 128 is written.
TEST(TableClasses, BytesOfScalesOfBlocks) {
  const auto table = ReadTable("m,k,quant_dtype,time_ms\n4,256,fp8,1\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_DOUBLE_EQ(table->rows[0].work.bytes, 2 * (4 * 256 + 4 * 2));
  EXPECT_EQ(table->rows[0].work.dtype, DType::kBFloat16);
}

TEST(TableClasses, WorkOfAnExpertLayer) {
  const ExpertCall call{
      .tokens = 16, .hidden = 64, .inner = 32, .top_k = 2, .experts = 8, .tp = 2, .ep = 4};
  const ExpertWork work = WorkOf(call, DType::kBFloat16);
  EXPECT_DOUBLE_EQ(work.rows, 8);  // of 32, on one of four devices
  EXPECT_DOUBLE_EQ(work.hit, 2);
  EXPECT_DOUBLE_EQ(work.flops, 8 * 2 * 64 * 48);  // gate, up and down: 3 x 16
  EXPECT_DOUBLE_EQ(work.product_bytes, 2 * (2 * 64 * 48 + 8 * (64 + 32 + 16 + 64)));
  EXPECT_DOUBLE_EQ(work.moved_bytes, 2 * (32 * (48 + 64) + 16 * 64));
  ExpertCall by_chance = call;
  by_chance.balanced = false;
  EXPECT_DOUBLE_EQ(WorkOf(by_chance, DType::kBFloat16).hit, 2 * (1 - std::exp(-4.0)));
  // One token of few experts: the others' weights are not read.
  by_chance.tokens = 1;
  EXPECT_LT(WorkOf(by_chance, DType::kBFloat16).hit, 1);
}

SourcedNumber Set(double value) { return {value, "1", NumberSource::kMeasured, "test"}; }

TEST(TableClasses, FindsTheNumbersOfKnownCollectives) {
  MachineModel known = Machine();
  known.collectives.start_ns = Set(15'000);
  known.collectives.short_start_ns = Set(6'000);
  known.collectives.short_part = Set(0.4);
  known.collectives.exchange_start_ns = Set(11'000);
  known.collectives.exchange_short_part = Set(0.05);
  known.collectives.own_share = Set(0.3);
  LinkLevel& link = known.links[0];
  link.efficiency = Set(0.7);
  link.latency_ns = Set(1'500);
  link.short_latency_ns = Set(900);
  link.in_switch = Set(0.5);
  link.in_switch_latency_ns = Set(30'000);
  KernelTable table{.name = "made.csv", .of_class = TableClass::kCollective};
  for (const CommKind kind : {CommKind::kAllReduce, CommKind::kAllGather, CommKind::kAllToAll}) {
    for (const std::int32_t members : {2, 4, 8}) {
      for (double bytes = 1024; bytes < 2e9; bytes *= 2) {
        KernelRow row{.work = {.dtype = DType::kBFloat16, .bytes = bytes}};
        row.collective = CollectiveCall{kind, members, bytes};
        table.rows.push_back(row);
      }
    }
  }
  const std::vector<double> ns = CollectiveNs(known, table.rows);
  for (std::size_t i = 0; i < ns.size(); ++i) {
    table.rows[i].ns = ns[i];
  }
  table.rows[5].ns *= 4;  // odd
  const auto fit = FitCollectives(Machine(), table);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_NEAR(fit->collectives.start_ns.value, 15'000, 1'000);
  EXPECT_NEAR(fit->collectives.short_start_ns->value, 6'000, 300);
  EXPECT_NEAR(fit->collectives.short_part.value, 0.4, 0.04);
  EXPECT_NEAR(fit->collectives.exchange_start_ns->value, 11'000, 1'000);
  EXPECT_NEAR(fit->collectives.own_share->value, 0.3, 0.05);
  EXPECT_NEAR(fit->link.efficiency.value, 0.7, 0.02);
  EXPECT_NEAR(fit->link.short_latency_ns->value, 900, 50);
  EXPECT_NEAR(fit->link.in_switch->value, 0.5, 0.03);
  EXPECT_EQ(fit->link.efficiency.source, NumberSource::kFitted);
  ASSERT_EQ(fit->errors.size(), 3U);
  for (const TableErrors& errors : fit->errors) {
    EXPECT_LT(errors.left_out.value_or(1), 0.03) << errors.type;
    EXPECT_EQ(errors.outliers, errors.type == "all_reduce" ? 1U : 0U);
  }
  // A machine whose switches do not add gets no number for it.
  const auto without = FitCollectives(Machine("a100-hgx"), table);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_FALSE(without->link.in_switch);
}

TEST(TableClasses, CollectivesBeyondTheInnermostLinkAreRefused) {
  KernelTable table{.name = "made.csv", .of_class = TableClass::kCollective};
  table.rows.resize(60, KernelRow{.ns = 1, .line = 7});
  for (KernelRow& row : table.rows) {
    row.collective = CollectiveCall{CommKind::kAllReduce, 16, 8};
  }
  EXPECT_THAT(
      FitCollectives(Machine(), table).error().message,
      HasSubstr("made.csv: line 7: 16 members; nvlink, the innermost link of h100-hgx, joins 8"));
}

TEST(TableClasses, FindsTheNumbersOfKnownExpertLayers) {
  const DeviceModel device = Machine().device;
  const ExpertNumbers known{DType::kBFloat16, Set(0.6), Set(100), Set(0.85), Set(0.4), Set(30'000)};
  KernelTable table{.name = "made.csv", .of_class = TableClass::kExperts};
  for (const std::int64_t tokens : {1, 16, 128, 1024, 8192, 65536}) {
    for (const std::int64_t hidden : {1024, 2048, 4096, 7168, 8192}) {
      for (const std::int64_t experts : {8, 32, 64, 128, 256}) {
        KernelRow row{.work = {.dtype = DType::kBFloat16}};
        row.experts = ExpertCall{.tokens = tokens,
                                 .hidden = hidden,
                                 .inner = 2048,
                                 .top_k = 4,
                                 .experts = experts,
                                 .balanced = tokens % 3 == 0};
        row.ns = ExpertNs(device, known, WorkOf(*row.experts, DType::kBFloat16), DType::kBFloat16);
        table.rows.push_back(row);
      }
    }
  }
  const auto fit = FitExperts(device, table);
  ASSERT_TRUE(fit) << fit.error().message;
  ASSERT_EQ(fit->types.size(), 1U);
  EXPECT_NEAR(fit->types[0].rate.value, 0.6, 0.03);
  EXPECT_NEAR(fit->types[0].half_m.value, 100, 15);
  EXPECT_NEAR(fit->types[0].memory.value, 0.85, 0.04);
  EXPECT_NEAR(fit->types[0].moving.value, 0.4, 0.04);
  EXPECT_NEAR(fit->types[0].start_ns.value, 30'000, 2'000);
  EXPECT_LT(fit->errors[0].left_out.value_or(1), 0.02);
  KernelTable narrow = table;
  for (KernelRow& row : narrow.rows) {
    row.work.dtype = DType::kFloat8E4M3;
  }
  EXPECT_THAT(FitExperts(Machine("a100-hgx").device, narrow).error().message,
              HasSubstr("no rate for products of float8"));
}

TEST(TableClasses, RowsFromCachesAreCountedAndNotFitted) {
  const DeviceModel device = Machine().device;
  KernelTable table{
      .name = "made.csv", .of_class = TableClass::kReduction, .op_class = OpClass::kReduction};
  for (double bytes = 1e4; bytes < 1e10; bytes *= 1.1) {
    KernelRow row{.work = {.op_class = OpClass::kReduction,
                           .dtype = DType::kBFloat16,
                           .bytes = bytes,
                           .known = true}};
    row.ns = 1'000 + bytes / (device.memory_bytes_per_second.value * 0.9) * 1e9;
    table.rows.push_back(row);
  }
  table.rows.back().ns /= 3;
  LeaveOutUnpredictable(device, table);
  EXPECT_EQ(table.from_caches, 1U);
  EXPECT_GT(table.below_least, 10U);
  const auto fit = FitMemoryBound(device, table);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_NEAR(fit->of_class.parts.memory->value, 0.9, 0.01);
  EXPECT_NEAR(fit->of_class.start_ns->value, 1'000, 60);
  EXPECT_EQ(fit->errors[0].outliers, 0U);
  EXPECT_FALSE(fit->of_class.parts.rate);
}

// A machine predicts a table that its own numbers made; another's numbers do not.
TEST(TableClasses, NumbersOfAnotherMachine) {
  const MachineModel h100 = Machine();
  std::string text = "operation,members,bytes,type,time_us\n";
  for (const std::int32_t members : {2, 4, 8}) {
    for (double bytes = 256; bytes < 1e9; bytes *= 2) {
      KernelRow row{.work = {.dtype = DType::kFloat32}};
      row.collective = CollectiveCall{CommKind::kAllGather, members, bytes};
      text += "all_gather," + std::to_string(members) + "," + std::to_string(std::llround(bytes)) +
              ",float32," + std::to_string(CollectiveNs(h100, std::vector{row})[0] * 1e-3) + "\n";
    }
  }
  const ScratchDirectory scratch;
  WriteFile(scratch.File("made.csv"), text);
  const auto error = [&](const MachineModel& other) {
    const auto fitted = FitTables(h100, *ReadTables({scratch.File("made.csv")}, {}), &other);
    EXPECT_TRUE(fitted) << fitted.error().message;
    return fitted->at(0).errors.at(0).other.value_or(-1);
  };
  EXPECT_LT(error(h100), 1e-3);
  EXPECT_GT(error(Machine("a100-hgx")), 0.1);
}

// What a machine gets from tables is read back from its file.
TEST(TableClasses, FitsStandInTheFile) {
  MachineModel machine = Machine();
  machine.fits = {{"collective", "all_reduce", 126, 0.05, 0.06, std::nullopt, "a.csv"},
                  {"gemm", "bfloat16", 99, 0.07, std::nullopt, 0.4, "b.csv"}};
  machine.device.experts = {
      {DType::kFloat8E4M3, Set(0.6), Set(100), Set(0.85), Set(1.4), Set(30'000)}};
  machine.device.experts[0].start_ns.unit = "ns";
  const auto again = ReadMachine(ToJson(machine).dump(), "machine.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->fits, machine.fits);
  ASSERT_EQ(again->device.experts.size(), 1U);
  EXPECT_DOUBLE_EQ(again->device.experts[0].moving.value, 1.4);
}

TEST(TableClasses, RefusedFitsOfAFile) {
  const std::string good = ToJson(Machine()).dump();
  const std::string entry =
      R"({"class": "gemm", "type": "t", "rows": 1, "fitted": 0.1, "error": null, "constant": 0.2, "table": "x"})";
  struct Case {
    std::string fits, words;
  };
  for (const Case& c : std::vector<Case>{
           {"3", "fits: expected a list"},
           {"[3]", "fits[0]: expected an object"},
           {"[{\"class\": \"gemm\"}]", "fits[0].type: expected a text"},
           {fmt::format("[{0},{0}]", entry), "gemm of t stands twice"},
           {R"([{"class": "c", "type": "t", "table": "x", "rows": 0, "fitted": 0}])", "rows"},
           {R"([{"class": "c", "type": "t", "table": "x", "rows": 2, "fitted": -1}])",
            "fits[0].fitted"},
           {R"([{"class": "c", "type": "t", "table": "x", "rows": 2, "fitted": 0, "q": 1}])",
            "fits[0].q"},
       }) {
    auto json = nlohmann::ordered_json::parse(good);
    json["fits"] = nlohmann::ordered_json::parse(c.fits);
    const auto machine = ReadMachine(json.dump(), "m.json");
    ASSERT_FALSE(machine) << c.fits;
    EXPECT_THAT(machine.error().message, AllOf(HasSubstr("m.json"), HasSubstr(c.words)));
  }
}

}  // namespace
}  // namespace reprise
