// Software stacks: every one that is built in, what a file must say, and what one does to a device.
#include "predict/machine/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "predict/machine/catalogue.h"
#include "predict/machine/machine.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json Number(double value, const char* unit = "1") {
  return {{"value", value}, {"unit", unit}, {"source", "fitted"}, {"reference", "test"}};
}

Json Whole() {
  return {
      {"format", "reprise-stack"},
      {"version", 1},
      {"name", "mine"},
      {"about", "for tests"},
      {"products", {{{"devices", {"A100"}}, {"rate", Number(0.5)}}}},
      {"attention", {{{"devices", {"H100", "A100"}}, {"rate", Number(0.25)}}}},
      {"pointwise", {{"time", Number(2)}}},
      {"memory",
       {{"context", Number(1, "GiB")}, {"reserved", Number(0.5)}, {"gradients", Number(2, "B")}}},
      {"errors", {{{"devices", {"A100"}}, {"models", {"dense"}}, {"error", Number(7, "%")}}}}};
}

DeviceModel DeviceOf(const std::string& machine, const std::vector<std::string>& overrides = {}) {
  const Result<MachineModel> read = LoadMachine(machine, overrides);
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read ? read->device : DeviceModel{};
}

// What large operations of the class reach.
double Rate(const DeviceModel& device, OpClass op_class) {
  const ClassEfficiency* const of_class = FindClass(device, op_class);
  return of_class != nullptr && of_class->parts.rate ? of_class->parts.rate->value
                                                     : MatrixEfficiency(device, op_class)->value;
}
double Memory(const DeviceModel& device, OpClass op_class) {
  const ClassEfficiency* const of_class = FindClass(device, op_class);
  return of_class != nullptr && of_class->parts.memory ? of_class->parts.memory->value
                                                       : device.memory_efficiency.value;
}

TEST(Stacks, BuiltInOnesAreSoundAndCalledAsTheirFiles) {
  EXPECT_THAT(StackNames(),
              testing::ElementsAre("deepspeed", "megatron-te", "torch-compile", "torch-eager"));
  for (const std::string& name : StackNames()) {
    const Result<SoftwareStack> stack = LoadStack(name);
    ASSERT_TRUE(stack) << stack.error().message;
    EXPECT_EQ(stack->name, name);
    EXPECT_TRUE(stack->context_bytes) << name;
  }
}

TEST(Stacks, ChangeTheDevicesThatTheyName) {
  const Result<SoftwareStack> stack = ReadStack(Whole().dump(), "mine.json");
  ASSERT_TRUE(stack) << stack.error().message;
  for (const auto& [machine, products, attention] :
       {std::tuple("a100-hgx", 0.5, 0.25), std::tuple("h100-hgx", 1.0, 0.25),
        std::tuple("mi300x-8", 1.0, 1.0)}) {
    const DeviceModel before = DeviceOf(machine);
    DeviceModel after = before;
    ApplyStack(*stack, after);
    EXPECT_DOUBLE_EQ(Rate(after, OpClass::kGemm), products * Rate(before, OpClass::kGemm));
    EXPECT_DOUBLE_EQ(Rate(after, OpClass::kAttention),
                     attention * Rate(before, OpClass::kAttention));
    for (const OpClass op_class : {OpClass::kNorm, OpClass::kElementwise, OpClass::kCopy}) {
      EXPECT_DOUBLE_EQ(Memory(after, op_class), Memory(before, op_class) / 2) << machine;
    }
    EXPECT_DOUBLE_EQ(Memory(after, OpClass::kSoftmax), Memory(before, OpClass::kSoftmax));
    EXPECT_EQ(FindOf(stack->errors, after, "dense") != nullptr, products != 1) << machine;
    EXPECT_EQ(FindOf(stack->errors, after, "experts"), nullptr) << machine;
  }
  EXPECT_EQ(
      ChangesText(*stack, DeviceOf("h100-hgx")),
      "attention at 0.25 of the device's rate, norms, point-wise operators and copies 2 times "
      "as long");
}

// A type's own number is as much the machine's as its class's.
TEST(Stacks, ChangeTheNumbersOfTypes) {
  const Result<SoftwareStack> stack = ReadStack(Whole().dump(), "mine.json");
  ASSERT_TRUE(stack);
  DeviceModel device = DeviceOf("a100-hgx");
  const auto gemm = std::ranges::find(device.classes, OpClass::kGemm, &ClassEfficiency::op_class);
  ASSERT_NE(gemm, device.classes.end());
  gemm->types = {{.dtype = DType::kFloat16, .parts = {.rate = gemm->parts.rate}}};
  const double before = gemm->parts.rate->value;
  ApplyStack(*stack, device);
  EXPECT_DOUBLE_EQ(FindClass(device, OpClass::kGemm)->types.front().parts.rate->value, before / 2);
}

TEST(Stacks, LeaveWhatIsGiven) {
  const Result<SoftwareStack> stack = ReadStack(Whole().dump(), "mine.json");
  ASSERT_TRUE(stack);
  DeviceModel device =
      DeviceOf("a100-hgx", {"device.efficiency.attention=0.6", "device.classes.gemm.rate=0.8"});
  ApplyStack(*stack, device);
  EXPECT_EQ(Rate(device, OpClass::kAttention), 0.6);
  EXPECT_EQ(Rate(device, OpClass::kGemm), 0.8);
  // Nor is it said to be changed.
  EXPECT_EQ(ChangesText(*stack, device), "norms, point-wise operators and copies 2 times as long");
}

TEST(Stacks, WhatAFileLacksChangesNothing) {
  Json json = Whole();
  for (const char* const key : {"products", "attention", "pointwise", "memory", "errors"}) {
    json.erase(key);
  }
  const Result<SoftwareStack> stack = ReadStack(json.dump(), "mine.json");
  ASSERT_TRUE(stack);
  const DeviceModel before = DeviceOf("h100-hgx");
  DeviceModel after = before;
  ApplyStack(*stack, after);
  EXPECT_EQ(after.classes.size(), before.classes.size());
  EXPECT_FALSE(stack->context_bytes || stack->reserved || stack->gradient_bytes);
  EXPECT_EQ(ChangesText(*stack, before), "");
}

TEST(Stacks, RefuseWhatIsWrong) {
  const auto refusal = [](const std::string& pointer, const Json& value) {
    Json json = Whole();
    json[Json::json_pointer(pointer)] = value;
    const Result<SoftwareStack> read = ReadStack(json.dump(), "mine.json");
    return read ? "none" : read.error().message;
  };
  for (const auto& [pointer, value, expected] : {
           std::tuple("/version", Json(2), "no file of a stack; expected \"format\""),
           std::tuple("/atention", Json::array(), "atention: no such key; did you mean attention?"),
           std::tuple("/about", Json(""), "about: expected a text"),
           std::tuple("/attention", Json(1), "attention: expected a list of objects with devices"),
           std::tuple("/attention/0/devices", Json::array(),
                      "attention[0]: expected devices, a list of texts"),
           std::tuple("/products/0/rate", Json(0.5), "products[0].rate: expected {\"value\""),
           std::tuple("/products/0/rate/value", Json(0), "products[0].rate is 0; expected more"),
           std::tuple("/products/0/rate/value", Json(17), "products[0].rate is 17; expected more"),
           std::tuple("/pointwise/time/unit", Json("ns"), "pointwise.time.unit"),
           std::tuple("/pointwise/tine", Json(1),
                      "pointwise.tine: no such key; did you mean time?"),
           std::tuple("/memory/context/source", Json("guess"), "memory.context.source is 'guess'"),
           std::tuple("/memory", Json(1), "memory: expected an object"),
       }) {
    const std::string message = refusal(pointer, value);
    EXPECT_THAT(message, HasSubstr(std::string("mine.json: ") + expected)) << pointer;
    EXPECT_THAT(message, HasSubstr("docs/stacks.md")) << pointer;
  }
  const Result<SoftwareStack> unknown = LoadStack("torch-egaer");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message,
              HasSubstr("no stack 'torch-egaer'; did you mean torch-eager?"));
}

}  // namespace
}  // namespace reprise
