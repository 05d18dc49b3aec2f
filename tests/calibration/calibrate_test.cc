// Fits of machines that are known: the captures are computed from their numbers.
#include "predict/calibration/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "predict/calibration/least_squares.h"
#include "predict/machine/catalogue.h"
#include "predict/machine/machine_file.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(LeastSquares, FindsTheLeastOfACurve) {
  // y = a exp(b x) through three points that a = 2, b = -0.5 gives, from far away.
  const auto residuals = [](std::span<const double> at) {
    std::vector<Residual> all;
    for (const double x : {0.0, 1.0, 3.0}) {
      const double power = std::exp(at[1] * x);
      all.push_back({at[0] * power - 2 * std::exp(-0.5 * x), {{0, power}, {1, at[0] * x * power}}});
    }
    return all;
  };
  const std::vector<double> found = MinimizeSquares(residuals, {1, 0});
  EXPECT_NEAR(found[0], 2, 1e-6);
  EXPECT_NEAR(found[1], -0.5, 1e-6);
}

TEST(LeastSquares, StaysWhereSlopesAreZero) {
  const auto flat = [](std::span<const double> at) {
    return std::vector<Residual>{{at[0] - 1, {{0, 1}}}, {3, {}}};
  };
  EXPECT_NEAR(MinimizeSquares(flat, {5})[0], 1, 1e-9);
}

// A machine whose parts are not the defaults: what captures are computed from.
MachineModel KnownMachine() {
  MachineModel machine = *LoadMachine("a100-hgx");
  const auto number = [](double value) {
    return SourcedNumber{value, "1", NumberSource::kMeasured, "test"};
  };
  ClassEfficiency gemm{.op_class = OpClass::kGemm};
  gemm.start_ns = number(5'000);
  gemm.types.push_back({DType::kBFloat16, {number(0.55), number(0.5)}});
  gemm.types.push_back({DType::kFloat32, {number(0.8), number(0.5)}});
  ClassEfficiency elementwise{.op_class = OpClass::kElementwise};
  elementwise.parts.memory = number(0.6);
  elementwise.start_ns = number(2'500);
  machine.device.classes = {gemm, elementwise};
  return machine;
}

// Products of n x n and operations of n x n elements, as the machine takes them.
CaptureTimes CaptureOn(const MachineModel& machine, const std::string& name,
                       std::initializer_list<double> sizes) {
  CaptureTimes capture{.name = name};
  for (const double n : sizes) {
    for (const DType dtype : {DType::kBFloat16, DType::kFloat32}) {
      const double bytes = n * n * SizeOf(dtype);
      for (const OperatorWork& work :
           {OperatorWork{OpClass::kGemm, dtype, 2 * n * n * n, 3 * bytes, true},
            OperatorWork{OpClass::kElementwise, dtype, n * n, 3 * bytes, true}}) {
        capture.points.push_back({work, RooflineOf(machine.device, work).ns, 10});
      }
    }
  }
  capture.operations_ns = capture.points_ns();
  return capture;
}

std::vector<CaptureTimes> ThreeCaptures() {
  const MachineModel known = KnownMachine();
  return {CaptureOn(known, "a", {128, 512, 1024, 2048, 3000, 4096}),
          CaptureOn(known, "b", {200, 640, 1500, 2500, 5000, 8192}),
          CaptureOn(known, "c", {160, 300, 768, 1792, 3584, 6000})};
}

TEST(Calibrate, RecoversKnownNumbers) {
  const MachineModel known = KnownMachine();
  const std::vector<CaptureTimes> captures = ThreeCaptures();
  const Result<MachineModel> fitted = FitMachine(*LoadMachine("a100-hgx"), captures);
  ASSERT_TRUE(fitted) << fitted.error().message;
  const ClassEfficiency* const gemm = FindClass(fitted->device, OpClass::kGemm);
  ASSERT_NE(gemm, nullptr);
  const ClassEfficiency::OfType* const half = FindType(*gemm, DType::kBFloat16);
  ASSERT_NE(half, nullptr);
  EXPECT_NEAR(half->parts.rate->value, 0.55, 0.02);
  EXPECT_EQ(half->parts.rate->source, NumberSource::kFitted);
  EXPECT_THAT(half->parts.rate->reference, AllOf(HasSubstr("points of a, b, c")));
  EXPECT_NEAR(FindType(*gemm, DType::kFloat32)->parts.rate->value, 0.8, 0.03);
  EXPECT_NEAR(gemm->start_ns->value, 5'000, 750);
  const ClassEfficiency* const elementwise = FindClass(fitted->device, OpClass::kElementwise);
  EXPECT_NEAR(FindType(*elementwise, DType::kFloat32)->parts.memory->value, 0.6, 0.02);
  EXPECT_NEAR(elementwise->start_ns->value, 2'500, 375);
  // What counts are the times. Short ones weigh little, and are held near the mean of all starts.
  for (const CaptureTimes& capture : captures) {
    for (const FitPoint& point : capture.points) {
      EXPECT_NEAR(RooflineOf(fitted->device, point.work).ns / point.ns, 1,
                  point.ns > 50'000 ? 0.03 : 0.15);
    }
  }
}

TEST(Calibrate, WithoutDataStaysTheDefaultAndSaysSo) {
  const Result<MachineModel> fitted = FitMachine(*LoadMachine("a100-hgx"), ThreeCaptures());
  ASSERT_TRUE(fitted);
  const OperatorWork conv{OpClass::kConv, DType::kBFloat16, 1e12, 1e8, true};
  EXPECT_TRUE(RooflineOf(fitted->device, conv).by_default());
  EXPECT_NE(RooflineOf(fitted->device, conv).source, NumberSource::kFitted);
  const OperatorWork gemm{OpClass::kGemm, DType::kBFloat16, 1e12, 1e8, true};
  EXPECT_FALSE(RooflineOf(fitted->device, gemm).by_default());
  EXPECT_EQ(RooflineOf(fitted->device, gemm).source, NumberSource::kFitted);
  // No launch was recorded.
  EXPECT_EQ(fitted->device.launch_latency_ns.source, NumberSource::kDefault);
}

// One small point says little, and moves the fit a little.
TEST(Calibrate, FewPointsMoveItPartOfTheWay) {
  const MachineModel base = *LoadMachine("a100-hgx");
  const OperatorWork work{OpClass::kGemm, DType::kBFloat16, 1e12, 1e8, true};
  CaptureTimes one{.name = "one"};
  const double default_ns = RooflineOf(base.device, work).ns;
  one.points.push_back({work, 2 * default_ns, 1});
  const Result<MachineModel> fitted = FitMachine(base, std::span(&one, 1));
  ASSERT_TRUE(fitted);
  const double ns = RooflineOf(fitted->device, work).ns;
  EXPECT_GT(ns, 1.5 * default_ns);
  EXPECT_LT(ns, 2 * default_ns);
}

TEST(Calibrate, LeavesEachCaptureOut) {
  const std::vector<CaptureTimes> captures = ThreeCaptures();
  const MachineModel base = *LoadMachine("a100-hgx");
  const Result<std::vector<SumsByClass>> left_out = LeaveOneOut(base, captures);
  ASSERT_TRUE(left_out) << left_out.error().message;
  ASSERT_EQ(left_out->size(), 3);
  for (std::size_t i = 0; i < captures.size(); ++i) {
    const PredictedSums total = TotalOf((*left_out)[i]);
    EXPECT_NEAR(total.recorded_ns, captures[i].points_ns(), 1);
    EXPECT_NEAR(total.fitted_ns / total.recorded_ns, 1, 0.05);
    EXPECT_LT(total.peaks_ns, 0.8 * total.recorded_ns);
    // Products take most of the time, so that one constant suits them, and not the others.
    const PredictedSums& others = (*left_out)[i][static_cast<std::size_t>(OpClass::kElementwise)];
    EXPECT_NEAR(others.fitted_ns / others.recorded_ns, 1, 0.03);
    EXPECT_GT(std::abs(others.constant_ns / others.recorded_ns - 1), 0.05);
  }
  const MachineModel machine = Calibrated(*FitMachine(base, captures), captures, *left_out);
  EXPECT_THAT(Described(*machine.calibration),
              AllOf(HasSubstr("a, b, c, 72 points, error "), HasSubstr("% when left out")));
  // The file keeps all of it.
  const Result<MachineModel> again = ReadMachine(ToJson(machine).dump(), "again");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToJson(*again), ToJson(machine));
  EXPECT_TRUE(LeaveOneOut(base, std::span(captures).first(1))->empty());
}

TEST(Calibrate, AStartThatOneDeviceLacksIsTheOthers) {
  MachineModel known = KnownMachine();
  MachineModel plain = *LoadMachine("h100-hgx");
  const OperatorWork tiny{OpClass::kElementwise, DType::kFloat32, 1, 12, true};
  const double known_ns = RooflineOf(known.device, tiny).ns;
  ShareStarts(known.device, plain.device);
  EXPECT_EQ(RooflineOf(known.device, tiny).ns, known_ns);
  EXPECT_NEAR(RooflineOf(plain.device, tiny).ns / known_ns, 1, 0.01);
  // A class that has a start keeps it.
  plain.device.classes.front().start_ns->value = 1;
  ShareStarts(plain.device, known.device);
  EXPECT_EQ(known.device.classes.front().start_ns->value, 5'000);
}

TEST(Calibrate, LaunchesAreMediansOfEnoughCases) {
  std::vector<CaptureTimes> captures = ThreeCaptures();
  captures[0].launch_latency_ns.assign(30, 6'000);
  captures[1].launch_latency_ns.assign(5, 90'000);
  captures[0].kernel_ns.assign(100, 9'000);
  captures[1].kernel_ns.assign(10, 3'000);
  captures[2].launch_apart_ns.assign(19, 1'000);  // too few
  const Result<MachineModel> fitted = FitMachine(*LoadMachine("a100-hgx"), captures);
  ASSERT_TRUE(fitted);
  EXPECT_EQ(fitted->device.launch_latency_ns.value, 6'000);
  EXPECT_EQ(fitted->device.launch_latency_ns.source, NumberSource::kFitted);
  EXPECT_EQ(fitted->device.kernel_least_ns.value, 3'000);
  EXPECT_EQ(fitted->host.launch_ns.source, NumberSource::kDefault);
}

TEST(Calibrate, NothingToFitIsBadInput) {
  const std::vector<CaptureTimes> captures = {{.name = "empty"}};
  const Result<MachineModel> fitted = FitMachine(*LoadMachine("a100-hgx"), captures);
  ASSERT_FALSE(fitted);
  EXPECT_THAT(fitted.error().message, AllOf(HasSubstr("empty"), HasSubstr("record_shapes")));
}

}  // namespace
}  // namespace reprise
