// Watts of tables: read, fitted with the full clock's rate, and told apart from what they leave
// open.
#include "predict/calibration/power_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "predict/calibration/loop_power.h"
#include "predict/calibration/table_fit.h"
#include "predict/machine/catalogue.h"
#include "predict/simulator/power/power.h"
#include "predict/simulator/power/power_work.h"
#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

OperatorWork Product(float m, float n, float k) {
  return {.op_class = OpClass::kGemm,
          .dtype = DType::kBFloat16,
          .flops = 2.0 * m * n * k,
          .bytes = 2.0 * (m * k + n * k + m * n),
          .known = true,
          .shape = {WorkShapeKind::kProduct, m, n, k, 1}};
}

// What the fit begins with; the true device differs in what is fitted.
DeviceModel Assumed() {
  DeviceModel device = LoadMachine("h100-hgx")->device;
  device.kernel_least_ns.value = 0;
  ClassEfficiency gemm{.op_class = OpClass::kGemm};
  gemm.parts = {SourcedNumber{0.6, "1"}, SourcedNumber{0.8, "1"}};
  gemm.start_ns = SourcedNumber{3'000, "us"};
  device.classes = {gemm};
  return device;
}
DeviceModel True() {
  DeviceModel device = Assumed();
  device.classes[0].parts.rate->value = 0.8;
  device.power.idle_watts->value = 110;
  device.power.memory_joules_per_byte->value = 90e-12;
  device.power.matrix_joules_per_flop[static_cast<std::size_t>(RateFormat::kBFloat16)]->value =
      1.2e-12;
  device.power.low_voltage->value = 0.85;
  return device;
}

// Loops on the device, as a meter shows them that settles so.
KernelTable Loops(const DeviceModel& device, float least, double settle_ns = 0) {
  KernelTable table{.name = "loops.csv"};
  table.op_class = OpClass::kGemm;
  for (const float m : {16.F, 64.F, 256.F, 1024.F, 2048.F, 4096.F, 8192.F, 16384.F}) {
    for (const float n : {64.F, 512.F, 2048.F, 6144.F, 8192.F, 16384.F}) {
      for (const float k : {64.F, 512.F, 1000.F, 4096.F, 8192.F, 12288.F}) {
        if (std::min({m, n, k}) < least) {
          continue;
        }
        KernelRow row;
        row.work = Product(m, n, k);
        const LoopPower loop = LoopPowerOf(device, row.work, device.power.limit_watts->value);
        row.ns = loop.ns;
        const double idle = device.power.idle_watts->value;
        row.watts =
            idle + (loop.watts - idle) * (settle_ns > 0 ? 1 - std::exp(-loop.ns / settle_ns) : 1);
        row.limit_watts = device.power.limit_watts->value;
        table.rows.push_back(row);
      }
    }
  }
  return table;
}

const PowerNumber& Number(const PowerFit& fit, const std::string& path) {
  for (const PowerNumber& number : fit.numbers) {
    if (number.path == path) {
      return number;
    }
  }
  ADD_FAILURE() << path;
  return fit.numbers.front();
}

void ExpectFound(const PowerFit& fit, const std::string& path, double value, double part) {
  const PowerNumber& number = Number(fit, path);
  EXPECT_TRUE(number.determined) << path << " ±" << number.deviation;
  EXPECT_NEAR(number.number.value, value, part * value) << path;
  EXPECT_EQ(number.number.source, NumberSource::kFitted);
}

TEST(PowerFit, FindsTheNumbersOfAKnownDevice) {
  const KernelTable tables[] = {Loops(True(), 0)};
  const auto fit = FitPower(Assumed(), tables);
  ASSERT_TRUE(fit) << fit.error().message;
  ASSERT_TRUE(*fit);
  ExpectFound(**fit, "device.power.idle", 110, 0.03);
  ExpectFound(**fit, "device.power.memory", 90e-12, 0.05);
  ExpectFound(**fit, "device.power.matrix.bfloat16", 1.2e-12, 0.05);
  ExpectFound(**fit, "device.power.low_voltage", 0.85, 0.05);
  ExpectFound(**fit, "device.classes.gemm.types.bfloat16.rate", 0.8, 0.03);
  EXPECT_NEAR((*fit)->device.power.idle_watts->value, 110, 4);
  ASSERT_EQ((*fit)->errors.size(), 1U);
  const WattsErrors& errors = (*fit)->errors[0];
  EXPECT_EQ(errors.rows, tables[0].rows.size());
  EXPECT_GT(errors.at_limit, 0U);
  EXPECT_LT(errors.left_out.value_or(1), 0.02);
  EXPECT_GT(errors.constant.value_or(0), 0.2);
  EXPECT_LT(errors.time, 0.02);
}

// Layers of experts of a device whose rate is `rate` of the peak.
KernelTable ExpertLoops(DeviceModel device, double rate) {
  device.experts[0].rate.value = rate;
  const double limit = device.power.limit_watts->value;
  KernelTable table{.name = "experts.csv", .of_class = TableClass::kExperts};
  for (const std::int64_t tokens : {1, 16, 256, 4096, 16384, 65536}) {
    for (const std::int64_t hidden : {1024, 2048, 4096, 7168, 8192}) {
      for (const std::int64_t experts : {8, 16, 64, 128, 256}) {
        KernelRow row;
        row.work.dtype = DType::kBFloat16;
        row.experts = {
            .tokens = tokens, .hidden = hidden, .inner = 2048, .top_k = 2, .experts = experts};
        const LoopPower loop =
            LoopPowerOf(device, device.experts[0], WorkOf(*row.experts, DType::kBFloat16),
                        DType::kBFloat16, limit);
        row.ns = loop.ns;
        row.watts = loop.watts;
        row.limit_watts = limit;
        table.rows.push_back(row);
      }
    }
  }
  return table;
}

KernelTable ReductionLoops(const DeviceModel& device) {
  KernelTable table{.name = "scales.csv", .of_class = TableClass::kReduction};
  for (int i = 1; i <= 100; ++i) {
    KernelRow row;
    row.work = {OpClass::kReduction, DType::kBFloat16, 1e6 * i, 2e7 * i, true};
    const LoopPower loop = LoopPowerOf(device, row.work, device.power.limit_watts->value);
    row.ns = loop.ns;
    row.watts = loop.watts;
    table.rows.push_back(row);
  }
  return table;
}

// Their joules are the products'; of experts only the rate is fitted, of reductions nothing.
TEST(PowerFit, ExpertsAndReductionsHaveTheProductsJoules) {
  const KernelTable tables[] = {ExpertLoops(True(), 0.7), Loops(True(), 0), ReductionLoops(True())};
  const auto fit = FitPower(Assumed(), tables);
  ASSERT_TRUE(fit) << fit.error().message;
  ASSERT_TRUE(*fit);
  ExpectFound(**fit, "device.power.memory", 90e-12, 0.05);
  ExpectFound(**fit, "device.experts.bfloat16.rate", 0.7, 0.05);
  EXPECT_NEAR((*fit)->device.experts[0].rate.value, 0.7, 0.04);
  ASSERT_EQ((*fit)->errors.size(), 3U);
  EXPECT_EQ((*fit)->errors[0].of_class, TableClass::kGemm);
  for (const WattsErrors& errors : (*fit)->errors) {
    EXPECT_EQ(errors.outliers, 0U) << Name(errors.of_class);
    EXPECT_LT(errors.left_out.value_or(1), 0.03) << Name(errors.of_class);
    EXPECT_TRUE(errors.constant) << Name(errors.of_class);
  }
  const auto numbers = (*fit)->numbers;
  EXPECT_EQ(std::ranges::count(numbers, "device.power.memory", &PowerNumber::path), 1);
}

// Without numbers for their type, expert layers have no times to begin with.
TEST(PowerFit, ExpertsWithoutNumbersAreNotFitted) {
  const KernelTable table = ExpertLoops(True(), 0.7);
  DeviceModel device = Assumed();
  device.experts.clear();
  const auto fit = FitPower(device, std::span(&table, 1));
  ASSERT_TRUE(fit && *fit);
  EXPECT_TRUE((*fit)->errors.empty());
}

TEST(PowerFit, AMeterThatHadNotSettledIsNoPower) {
  const KernelTable tables[] = {Loops(True(), 0, 20'000)};
  const auto fit = FitPower(Assumed(), tables);
  ASSERT_TRUE(fit && *fit);
  ExpectFound(**fit, "device.power.idle", 110, 0.05);
  ExpectFound(**fit, "device.power.matrix.bfloat16", 1.2e-12, 0.1);
  ASSERT_EQ((*fit)->meters.size(), 1U);
  EXPECT_NEAR((*fit)->meters[0].settle_ns, 20'000, 3'000);
}

// All that is known is how fast large products are at the limit.
TEST(PowerFit, RowsThatAreAllAtTheLimitLeaveNumbersOpen) {
  const KernelTable tables[] = {Loops(True(), 2048)};
  ASSERT_GE(tables[0].rows.size(), kFewestRows - 2);
  KernelTable twice = tables[0];
  twice.rows.insert(twice.rows.end(), tables[0].rows.begin(), tables[0].rows.end());
  for (const KernelRow& row : twice.rows) {
    ASSERT_NEAR(*row.watts, 700, 1);
  }
  const DeviceModel assumed = Assumed();
  const auto fit = FitPower(assumed, std::span(&twice, 1));
  ASSERT_TRUE(fit && *fit);
  for (const char* const path : {"device.power.idle", "device.power.low_voltage"}) {
    EXPECT_FALSE(Number(**fit, path).determined) << path;
  }
  EXPECT_EQ((*fit)->device.power.idle_watts->value, assumed.power.idle_watts->value);
  EXPECT_EQ((*fit)->device.power.low_voltage->source, NumberSource::kDefault);
}

TEST(PowerFit, RowsWithoutWattsSayNothing) {
  KernelTable table = Loops(True(), 0);
  for (KernelRow& row : table.rows) {
    row.watts.reset();
  }
  const auto none = FitPower(Assumed(), std::span(&table, 1));
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  for (std::size_t i = 0; i < 49; ++i) {
    table.rows[i].watts = 300;
  }
  const auto few = FitPower(Assumed(), std::span(&table, 1));
  ASSERT_TRUE(few && *few);
  EXPECT_TRUE((*few)->errors.empty());
  EXPECT_THAT((*few)->notes, ElementsAre(HasSubstr("49 rows of gemm, type bfloat16, with watts")));
  EXPECT_EQ((*few)->device.power.idle_watts->value, Assumed().power.idle_watts->value);
}

TEST(PowerFit, NeedsNumbersToBeginWith) {
  DeviceModel device = Assumed();
  device.power = {};
  const KernelTable table = Loops(True(), 0);
  const auto fit = FitPower(device, std::span(&table, 1));
  ASSERT_TRUE(fit && *fit);
  EXPECT_THAT((*fit)->notes, ElementsAre(HasSubstr("watts: not fitted")));
}

TEST(PowerFit, WattsBeyondTheMachinesLimitAreOfAnother) {
  KernelTable table = Loops(True(), 0);
  for (KernelRow& row : table.rows) {
    row.limit_watts.reset();
    row.watts = *row.watts * 1000;
  }
  table.rows[0].line = 2;
  const auto fit = FitPower(Assumed(), std::span(&table, 1));
  ASSERT_FALSE(fit);
  EXPECT_THAT(fit.error().message, AllOf(HasSubstr("loops.csv: line "), HasSubstr("700 W")));
}

Result<KernelTable> ReadRows(const std::string& rows) {
  const ScratchDirectory scratch;
  WriteFile(scratch.File("k.csv"),
            "gemm_dtype,m,n,k,time_ms,power_watts,power_limit_watts\n" + rows);
  return ReadKernelTable(scratch.File("k.csv"), {});
}

TEST(PowerFit, WattsAreReadWhereThereAreSome) {
  const auto table = ReadRows(
      "bfloat16,3,5,7,1,300.5,700\n"
      "bfloat16,3,5,8,1,,700\n"
      "bfloat16,3,5,9,1,200,\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows[0].watts, 300.5);
  EXPECT_EQ(table->rows[0].limit_watts, 700);
  EXPECT_FALSE(table->rows[1].watts);
  EXPECT_EQ(table->rows[2].watts, 200);
  EXPECT_FALSE(table->rows[2].limit_watts);
}

TEST(PowerFit, BadWattsAreRefused) {
  for (const char* const bad : {"-1", "nan", "0", "inf", "300W", "1e400"}) {
    const auto table =
        ReadRows("bfloat16,3,5,7,1,300,700\nbfloat16,3,5,8,1," + std::string(bad) + ",700\n");
    ASSERT_FALSE(table) << bad;
    EXPECT_THAT(table.error().message,
                AllOf(HasSubstr("k.csv: line 3: power_watts is"), HasSubstr("a number above 0")));
  }
  const auto milliwatts = ReadRows("bfloat16,3,5,7,1,300000,700\n");
  ASSERT_FALSE(milliwatts);
  EXPECT_THAT(milliwatts.error().message, HasSubstr("line 2: 300000 W at a limit of 700 W"));
  std::string rows;
  for (int m = 1; m <= 200; ++m) {
    rows += "bfloat16," + std::to_string(m) + ",5,7,1," + (m == 9 ? "900" : "300") + ",700\n";
  }
  const auto one = ReadRows(rows);
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->beyond_limit, 1U);
  EXPECT_FALSE(one->rows[8].watts);
}

// The simulator's own iteration ends where LoopPowerOf says, to a step of the clock.
LoopPower Simulated(const MachineModel& machine, const OperatorWork& work) {
  TimingGraph timing;
  timing.duration_ns = {static_cast<std::int64_t>(RooflineOf(machine.device, work).ns)};
  timing.delay_ns = {0};
  timing.dep_offset = {0, 0};
  Schedule schedule = *DryRun(timing);
  std::vector<PoweredDevice> devices = {{}};
  devices[0].nodes = {
      {.node = 0, .op_class = work.op_class, .energy = OperationEnergy(machine.device, work)}};
  const PowerInput input{
      .machine = machine, .options = {}, .own_ns = [](std::uint32_t) { return std::int64_t{1}; }};
  const auto outcome = SettlePower(input, devices, timing, schedule);
  EXPECT_TRUE(outcome);
  return {static_cast<double>(schedule.end_ns[0]), outcome->devices[0].mean_watts, 1};
}

TEST(PowerFit, ASimulatedLoopIsThatOfTheTable) {
  struct Case {
    const char* machine;
    double flops_per_second, watts;  // medians of the tables' rows above 2e12 FLOPs
  };
  for (const Case& c : {Case{"h200-hgx", 709e12, 690}, Case{"b200-hgx", 1482e12, 982}}) {
    const MachineModel machine = *LoadMachine(c.machine);
    const double limit = machine.device.power.limit_watts->value;
    const OperatorWork large = Product(8192, 16384, 16384);
    for (const OperatorWork& work : {large, Product(64, 128, 256), Product(16, 8192, 8192)}) {
      const LoopPower loop = LoopPowerOf(machine.device, work, limit);
      const LoopPower simulated = Simulated(machine, work);
      EXPECT_NEAR(simulated.ns, loop.ns, 0.02 * loop.ns);
      EXPECT_NEAR(simulated.watts, loop.watts, 0.02 * loop.watts);
    }
    const LoopPower simulated = Simulated(machine, large);
    // Half of the rows of B200 lie between 1,402 and 1,615 TFLOP/s, of H200 between 690 and 754.
    EXPECT_NEAR(large.flops / simulated.ns * 1e9, c.flops_per_second, 0.06 * c.flops_per_second);
    EXPECT_NEAR(simulated.watts, c.watts, 0.03 * c.watts);
  }
}

}  // namespace
}  // namespace reprise
