// Tables of kernels: read, fitted, and refused.
#include "predict/calibration/kernel_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/calibration/table_columns.h"
#include "predict/calibration/table_fit.h"
#include "predict/machine/catalogue.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Result<KernelTable> ReadText(const std::string& text, const std::string& columns = "") {
  const ScratchDirectory scratch;
  WriteFile(scratch.File("kernels.csv"), text);
  std::vector<std::string> files;
  if (!columns.empty()) {
    WriteFile(scratch.File("columns.json"), columns);
    files.push_back(scratch.File("columns.json"));
  }
  return ReadKernelTable(scratch.File("kernels.csv"), files);
}

TEST(KernelTable, ProductsAndTheirWork) {
  const auto table = ReadText(
      "gemm_dtype,m,n,k,time_ms\r\n"
      "bfloat16,3,5,7,0.25\r\n"
      "fp8,3,5,7,0.125\r\n"
      "nvfp4,3,5,8,0.0625\r\n"
      "fp8_block,3,5,7,1");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->op_class, OpClass::kGemm);
  EXPECT_EQ(table->other_types, 1U);
  ASSERT_EQ(table->rows.size(), 3U);
  const KernelRow& wide = table->rows[0];
  EXPECT_EQ(wide.line, 2U);
  EXPECT_DOUBLE_EQ(wide.ns, 250'000);
  EXPECT_EQ(wide.work.dtype, DType::kBFloat16);
  EXPECT_DOUBLE_EQ(wide.work.flops, 210);
  EXPECT_DOUBLE_EQ(wide.work.bytes, 2 * (21 + 35 + 15));
  EXPECT_EQ(wide.work.shape, (WorkShape{WorkShapeKind::kProduct, 3, 5, 7, 1}));
  // Narrow operands, a result of 16 bits.
  EXPECT_DOUBLE_EQ(table->rows[1].work.bytes, 21 + 35 + 2 * 15);
  EXPECT_EQ(table->rows[1].work.dtype, DType::kFloat8E4M3);
  // Two numbers a byte.
  const OperatorWork& packed = table->rows[2].work;
  EXPECT_EQ(packed.dtype, DType::kFloat4E2M1x2);
  EXPECT_DOUBLE_EQ(packed.flops, 2 * 3 * 5 * 8);
  EXPECT_DOUBLE_EQ(packed.bytes, 3 * 4 + 5 * 4 + 2 * 15);
  EXPECT_EQ(packed.shape, (WorkShape{WorkShapeKind::kProduct, 3, 5, 8, 1}));
}

TEST(KernelTable, PackedNumbersAreEven) {
  const auto table = ReadText("gemm_dtype,m,n,k,time_ms\nnvfp4,3,5,7,0.25\n");
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().message, HasSubstr("k is 7; expected a multiple of 2"));
}

TEST(KernelTable, CausalAttention) {
  const auto table = ReadText(
      "attn_dtype,batch_size,isl,num_heads,num_key_value_heads,head_dim,step,time_ms\n"
      "bfloat16,2,4,8,1,16,0,0.5\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->op_class, OpClass::kAttention);
  const OperatorWork& work = table->rows.at(0).work;
  EXPECT_DOUBLE_EQ(work.flops, 2 * 8 * 10 * (4 * 16 + 5));  // 10 pairs of 4 tokens
  EXPECT_DOUBLE_EQ(work.bytes, 2 * 2 * 2 * 4 * 16 * (8 + 1));
  EXPECT_EQ(work.shape, (WorkShape{WorkShapeKind::kAttention, 4, 4, 16, 16}));
}

TEST(KernelTable, ColumnsOfOnesOwn) {
  const std::string columns =
      R"({"format": "reprise-table-columns", "version": 1, "class": "gemm", "unit": "us",
          "columns": {"m": "rows", "n": "cols", "k": "inner", "type": "t", "time": "mean"},
          "types": {"bf16": "bfloat16"}})";
  const auto table = ReadText("mean,t,inner,cols,rows,node\n4,bf16,7,5,3,x\n", columns);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_DOUBLE_EQ(table->rows.at(0).ns, 4'000);
  EXPECT_EQ(table->rows.at(0).work.shape, (WorkShape{WorkShapeKind::kProduct, 3, 5, 7, 1}));
}

TEST(KernelTable, Refusals) {
  const std::string header = "m,n,k,type,time_us\n";
  struct Case {
    std::string text, words;
  };
  for (const Case& c : std::vector<Case>{
           {"", "empty; expected a header"},
           {"a,b\n1,2\n", "line 1: no file of columns fits its columns a, b"},
           {"\"m\",n,k,type,time_us\n", "line 1: quoted fields"},
           {header + "1,2,3,bfloat16\n", "line 2: 4 fields, the header has 5"},
           {header + "1,2,3,bfloat16,0\n", "line 2: time_us is '0'; expected a number above 0"},
           {header + "1,2,3,bfloat16,nan\n", "line 2: time_us is 'nan'"},
           {header + "1,2,3,bfloat16,inf\n", "line 2: time_us is 'inf'"},
           {header + "1,2,3,bfloat16,1 us\n", "line 2: time_us is '1 us'"},
           {header + "1,2,3,bfloat16,\n", "line 2: time_us is ''"},
           {header + "1,2,2.5,bfloat16,1\n", "line 2: k is '2.5'; expected a whole number above 0"},
           {header + "-1,2,3,bfloat16,1\n", "line 2: m is '-1'"},
           {header + "1,2,3,bfloat16,1\n1,2,3,bfloat16,1.9\n1,2,3,bfloat16,2.1\n",
            "line 4: 2.1 us, and 1 us in line 2 for the same shape and type"},
           {header + "10000000,10000000,10000000,bfloat16,1\n", "line 2: sizes whose product"},
           {header + "1,2,3,int4,1\n", "no row of a type that"},
       }) {
    const auto table = ReadText(c.text);
    ASSERT_FALSE(table) << c.text;
    EXPECT_EQ(table.error().kind, ErrorKind::kBadInput);
    EXPECT_THAT(table.error().message, HasSubstr(c.words));
  }
}

TEST(TableColumns, Refusals) {
  const std::string good =
      R"({"format": "reprise-table-columns", "version": 1, "class": "gemm", "unit": "us",
          "columns": {"m": "m", "n": "n", "k": "k", "type": "t", "time": "s"},
          "types": {"bf16": "bfloat16"}})";
  ASSERT_TRUE(ReadTableColumns(good, "c.json"));
  struct Case {
    std::string from, to, words;
  };
  for (const Case& c : std::vector<Case>{
           {"\"version\": 1", "\"version\": 2", "expected an object with \"format\""},
           {"\"gemm\"", "\"moe\"",
            "class: expected gemm, attention, reduction, experts, collective"},
           {"\"unit\": \"us\"", "\"unit\": \"min\"", "unit: expected ns, us, ms or s"},
           {"\"k\": \"k\", ", "", "columns.k is missing"},
           {"\"k\": \"k\"", "\"k\": \"k\", \"q\": \"q\"", "columns.q is unknown"},
           {"\"k\": \"k\"", "\"k\": 3", "columns: expected texts"},
           {"\"bfloat16\"", "\"bfloat17\"", "types.bf16: expected a type"},
           {"\"types\"", "\"typse\"", "'typse' is unknown"},
           {"{\"format\"", "[\"format\"", "c.json: no JSON"},
       }) {
    std::string text = good;
    text.replace(text.find(c.from), c.from.size(), c.to);
    const auto columns = ReadTableColumns(text, "c.json");
    ASSERT_FALSE(columns) << text;
    EXPECT_THAT(columns.error().message, AllOf(HasSubstr("c.json"), HasSubstr(c.words)));
  }
}

SourcedNumber Given(double value) { return {value, "1", NumberSource::kMeasured, "test"}; }

// A device whose products have numbers that are known.
DeviceModel KnownDevice() {
  DeviceModel device = LoadMachine("h100-hgx")->device;
  device.multiprocessors = Given(132);
  device.kernel_least_ns.value = 0;
  ClassEfficiency gemm{.op_class = OpClass::kGemm, .parts = {Given(0.6), Given(0.9)}};
  gemm.shape.half_m = Given(40);
  gemm.shape.half_n = Given(20);
  gemm.shape.half_k = Given(150);
  gemm.shape.waves = Given(0.5);
  gemm.start_ns = Given(3'000);
  device.classes = {gemm};
  return device;
}

KernelTable TableOn(const DeviceModel& device) {
  KernelTable table{.name = "made.csv", .op_class = OpClass::kGemm};
  for (const float m : {16.F, 128.F, 400.F, 1024.F, 5000.F, 8192.F}) {
    for (const float n : {64.F, 512.F, 2048.F, 6144.F, 16384.F}) {
      for (const float k : {64.F, 512.F, 1000.F, 4096.F, 12288.F}) {
        KernelRow row;
        row.work = {.op_class = OpClass::kGemm,
                    .dtype = DType::kBFloat16,
                    .flops = 2.0 * m * n * k,
                    .bytes = 2.0 * (m * k + n * k + m * n),
                    .known = true,
                    .shape = {WorkShapeKind::kProduct, m, n, k, 1}};
        row.ns = RooflineOf(device, row.work).ns;
        table.rows.push_back(row);
      }
    }
  }
  return table;
}

TEST(TableFit, FindsTheNumbersOfAKnownDevice) {
  const DeviceModel known = KnownDevice();
  const auto fit = FitTable(known, TableOn(known));
  ASSERT_TRUE(fit) << fit.error().message;
  const ClassEfficiency& gemm = fit->of_class;
  EXPECT_NEAR(gemm.parts.rate->value, 0.6, 0.02);
  EXPECT_NEAR(gemm.parts.memory->value, 0.9, 0.05);
  EXPECT_NEAR(gemm.shape.half_m->value, 40, 6);
  EXPECT_NEAR(gemm.shape.half_n->value, 20, 6);
  EXPECT_NEAR(gemm.shape.half_k->value, 150, 20);
  EXPECT_NEAR(gemm.shape.waves->value, 0.5, 0.1);
  EXPECT_NEAR(gemm.start_ns->value, 3'000, 300);
  EXPECT_EQ(gemm.parts.rate->source, NumberSource::kFitted);
  ASSERT_EQ(fit->errors.size(), 1U);
  EXPECT_LT(fit->errors[0].left_out.value_or(1), 0.02);
  EXPECT_GT(fit->errors[0].constant.value_or(0), 0.2);
  EXPECT_EQ(fit->errors[0].outliers, 0U);
}

TEST(TableFit, OddRowsAreLeftOutAndCounted) {
  const DeviceModel known = KnownDevice();
  KernelTable table = TableOn(known);
  table.rows[3].ns *= 5;
  table.rows[77].ns /= 4;
  const auto fit = FitTable(known, table);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_EQ(fit->errors[0].outliers, 2U);
  EXPECT_LT(fit->errors[0].left_out.value_or(1), 0.02);
}

// Absent is not zero: of four values of each size, none can be left out.
TEST(TableFit, AnErrorThatCannotBeMeasuredIsNone) {
  const DeviceModel known = KnownDevice();
  KernelTable table = TableOn(known);
  std::erase_if(table.rows, [](const KernelRow& row) {
    const WorkShape& shape = row.work.shape;
    return shape.m > 2000 || shape.n > 10'000 || shape.k > 10'000;
  });
  ASSERT_GE(table.rows.size(), 50U);
  const auto fit = FitTable(known, table);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_FALSE(fit->errors[0].left_out);
  EXPECT_FALSE(fit->errors[0].constant);
  EXPECT_THAT(fit->of_class.parts.rate->reference, HasSubstr("made.csv"));
}

TEST(TableFit, Refusals) {
  const DeviceModel known = KnownDevice();
  KernelTable few = TableOn(known);
  few.rows.resize(49);
  EXPECT_THAT(FitTable(known, few).error().message, HasSubstr("49 rows of type bfloat16"));
  const DeviceModel a100 = LoadMachine("a100-hgx")->device;
  KernelTable narrow = TableOn(known);
  for (KernelRow& row : narrow.rows) {
    row.work.dtype = DType::kFloat8E4M3;
  }
  EXPECT_THAT(FitTable(a100, narrow).error().message, HasSubstr("no rate for products of float8"));
}

}  // namespace
}  // namespace reprise
