// Every machine that is built in, what a file must say, and what --set does.
#include "predict/machine/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "predict/machine/catalogue.h"
#include "predict/machine/embedded_machines.h"
#include "predict/machine/fields.h"
#include "predict/machine/machine_file.h"

namespace reprise {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// A small machine of three levels: 2 devices in a package, 4 in a node, all of them.
Json Small() {
  const auto number = [](double value, const char* unit) {
    return Json{{"value", value}, {"unit", unit}, {"source", "measured"}, {"reference", "test"}};
  };
  const auto bandwidth = [&number](double value, const char* unit, const char* per,
                                   const char* ways) {
    Json json = number(value, unit);
    json["per"] = per;
    json["ways"] = ways;
    return json;
  };
  return {{"format", "reprise-machine"},
          {"version", 1},
          {"name", "small"},
          {"about", "for tests"},
          {"device",
           {{"name", "device"},
            {"kind", "gpu"},
            {"recorded_as", {"Small GPU"}},
            {"memory", {{"capacity", number(16, "GB")}, {"bandwidth", number(1, "TB/s")}}},
            {"matrix", {{"float16", number(100, "TFLOP/s")}}},
            {"vector", {{"float32", number(10, "TFLOP/s")}}}}},
          {"node", {{"devices", number(4, "1")}}},
          {"links",
           {{"net",
             {{"bandwidth", bandwidth(80, "Gb/s", "node", "one")}, {"latency", number(5, "us")}}},
            {"board",
             {{"devices", number(4, "1")},
              {"bandwidth", bandwidth(100, "GB/s", "device", "both")},
              {"latency", number(2, "us")},
              {"short_latency", number(1, "us")}}},
            {"package",
             {{"devices", number(2, "1")},
              {"bandwidth", bandwidth(200, "GB/s", "device", "one")},
              {"latency", number(1, "us")}}}}}};
}

std::string Refusal(const Json& json) {
  const Result<MachineModel> machine = ReadMachine(json.dump(), "x.json");
  EXPECT_FALSE(machine) << "accepted";
  return machine ? "" : machine.error().message;
}

class BuiltInMachine : public ::testing::TestWithParam<std::string> {};

TEST_P(BuiltInMachine, IsReadAndNamedAsItsFile) {
  const Result<MachineModel> machine = LoadMachine(GetParam());
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->name, GetParam());
  EXPECT_FALSE(machine->about.empty());
  EXPECT_FALSE(machine->device.recorded_as.empty());
  EXPECT_TRUE(IsRecordedAs(machine->device, "x " + machine->device.recorded_as.front() + " y"));
}

// The issue's rule: every number has unit, source and reference, also those by default.
TEST_P(BuiltInMachine, HasASourceForEveryNumber) {
  MachineModel machine = *LoadMachine(GetParam());
  for (const MachineField& field : FieldsOf(machine)) {
    const SourcedNumber* const number = field.number != nullptr       ? field.number
                                        : field.optional->has_value() ? &**field.optional
                                                                      : nullptr;
    if (number != nullptr) {
      EXPECT_TRUE(UnitFactor(number->unit, field.dimension)) << field.path;
      EXPECT_GT(number->reference.size(), 5U) << field.path;
    }
  }
}

TEST_P(BuiltInMachine, IsTheSameAfterWritingAndReading) {
  const MachineModel machine = *LoadMachine(GetParam());
  const std::string text = ToJson(machine).dump();
  const Result<MachineModel> again = ReadMachine(text, "again.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ToJson(*again).dump(), text);
}

// Peaks with sparsity are twice these: the mistake that a datasheet invites.
TEST_P(BuiltInMachine, HasDenseRates) {
  const MachineModel machine = *LoadMachine(GetParam());
  const double expected = GetParam().starts_with("v100")    ? 125e12
                          : GetParam().starts_with("a100")  ? 312e12
                          : GetParam().starts_with("b200")  ? 2250e12
                          : GetParam().starts_with("gb")    ? 2500e12
                          : GetParam().starts_with("l40s")  ? 362e12
                          : GetParam().starts_with("t4")    ? 65e12
                          : GetParam().starts_with("mi250") ? 181e12
                          : GetParam().starts_with("mi3")   ? 1307e12
                                                            : 989e12;
  EXPECT_NEAR(PeakRate(machine.device, DType::kFloat16, true, false)->value, expected,
              0.001 * expected);
}

// The replayer's table of devices, from which it takes what a device can have done at most, has the
// same figures.
TEST_P(BuiltInMachine, AgreesWithTheTableOfDevices) {
  struct Peak {
    std::string_view name;
    double tera_flops, gb_per_s;
  };
  constexpr Peak kPeaks[] = {
#define PEAK(name, tera_flops, gb_per_s) {name, tera_flops, gb_per_s},
#include "replayer/plan/device_peaks.def"
  };
  const MachineModel machine = *LoadMachine(GetParam());
  const auto* const peak = std::find_if(std::begin(kPeaks), std::end(kPeaks), [&](const Peak& row) {
    return machine.device.name.find(row.name) != std::string::npos;
  });
  ASSERT_NE(peak, std::end(kPeaks));
  double most = 0;
  for (const OptionalNumber& rate : machine.device.matrix_flops_per_second) {
    most = std::max(most, rate ? rate->value : 0);
  }
  EXPECT_NEAR(most, peak->tera_flops * 1e12, 0.002 * most);
  EXPECT_NEAR(machine.device.memory_bytes_per_second.value, peak->gb_per_s * 1e9,
              0.006 * peak->gb_per_s * 1e9);
}

INSTANTIATE_TEST_SUITE_P(All, BuiltInMachine, ::testing::ValuesIn(MachineNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Catalogue, HasTheMachinesOfThePage) {
  EXPECT_THAT(MachineNames(), ::testing::IsSupersetOf(
                                  {"v100-dgx", "a100-hgx", "h100-hgx", "h100-study", "h200-study",
                                   "b200-hgx", "mi250-study", "mi300x-8", "a100-40gb", "gh200",
                                   "gb200-nvl72", "gb300-nvl72", "l40s", "t4", "mi325x-8"}));
}

TEST(Catalogue, FindsMachinesByTheNameInACapture) {
  EXPECT_THAT(MachinesOfDevice("Tesla V100-SXM2-32GB"), ::testing::ElementsAre("v100-dgx"));
  EXPECT_THAT(MachinesOfDevice("AMD Instinct MI300X VF"), ::testing::ElementsAre("mi300x-8"));
  EXPECT_THAT(MachinesOfDevice("NVIDIA H100 80GB HBM3"),
              ::testing::ElementsAre("h100-hgx", "h100-study"));
  EXPECT_THAT(MachinesOfDevice("NVIDIA GH200 480GB"), ::testing::ElementsAre("gh200"));
  EXPECT_THAT(MachinesOfDevice("NVIDIA GB200"), ::testing::ElementsAre("gb200-nvl72"));
  EXPECT_THAT(MachinesOfDevice("NVIDIA GB300"), ::testing::ElementsAre("gb300-nvl72"));
  EXPECT_THAT(MachinesOfDevice("NVIDIA B200"), ::testing::ElementsAre("b200-hgx"));
  EXPECT_THAT(MachinesOfDevice("NVIDIA H200"), ::testing::ElementsAre("h200-hgx", "h200-study"));
  EXPECT_THAT(MachinesOfDevice("NVIDIA A100-SXM4-40GB"), ::testing::ElementsAre("a100-40gb"));
  EXPECT_THAT(MachinesOfDevice("NVIDIA GeForce RTX 2080 Ti"), ::testing::IsEmpty());
}

TEST(Catalogue, NamesTheNearestOfAnUnknownName) {
  const Result<MachineModel> machine = LoadMachine("h100_hgxx");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(machine.error().message, HasSubstr("did you mean h100-hgx?"));
}

// The study's 100 Gb/s are of a node, the others' 400 Gb/s of a device: one way, in bytes.
TEST(Links, BandwidthOfADomain) {
  const MachineModel study = *LoadMachine("h100-study");
  const std::size_t network = *study.FindLink("infiniband");
  EXPECT_DOUBLE_EQ(study.DomainBandwidth(network), 12.5e9);
  EXPECT_EQ(study.DomainDevices(network), 8);
  EXPECT_EQ(study.DeviceLimit(), 64);
  const MachineModel hgx = *LoadMachine("h100-hgx");
  EXPECT_DOUBLE_EQ(hgx.DomainBandwidth(*hgx.FindLink("infiniband")), 8 * 50e9);
  EXPECT_DOUBLE_EQ(hgx.DomainBandwidth(*hgx.FindLink("nvlink")), 450e9);
  EXPECT_EQ(hgx.DeviceLimit(), 0);
}

TEST(Links, AreNestedWhateverTheirOrderInTheFile) {
  const Result<MachineModel> machine = ReadMachine(Small().dump(), "x.json");
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_EQ(machine->links.size(), 3U);
  EXPECT_EQ(machine->links[0].name, "package");
  EXPECT_EQ(machine->links[2].name, "net");
  EXPECT_DOUBLE_EQ(machine->DomainBandwidth(1), 2 * 50e9);  // two devices of 50 GB/s one way
  EXPECT_DOUBLE_EQ(machine->DomainBandwidth(2), 10e9);      // 80 Gb/s of the node
}

TEST(Links, OversubscriptionIsOfWhatTheMembersSend) {
  Json json = Small();
  json["links"]["net"]["devices"] = json["node"]["devices"];
  json["links"]["net"]["devices"]["value"] = 16;
  json["links"]["spine"] = {{"oversubscription", json["node"]["devices"]},
                            {"latency", json["links"]["net"]["latency"]}};
  const Result<MachineModel> machine = ReadMachine(json.dump(), "x.json");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_DOUBLE_EQ(machine->DomainBandwidth(3), 4 * 10e9 / 4);  // four nodes, a quarter
  json["links"]["spine"]["bandwidth"] = json["links"]["net"]["bandwidth"];
  EXPECT_THAT(Refusal(json), HasSubstr("exactly one of bandwidth and oversubscription"));
}

TEST(Rates, FallBackToOtherUnits) {
  const MachineModel machine = *LoadMachine("a100-hgx");
  EXPECT_DOUBLE_EQ(PeakRate(machine.device, DType::kFloat32, true, false)->value, 19.5e12);
  EXPECT_DOUBLE_EQ(PeakRate(machine.device, DType::kFloat32, true, true)->value, 156e12);
  EXPECT_DOUBLE_EQ(PeakRate(machine.device, DType::kFloat32, false, true)->value, 19.5e12);
  EXPECT_EQ(PeakRate(machine.device, DType::kFloat8E5M2, true, false), nullptr);
  EXPECT_EQ(PeakRate(machine.device, DType::kInt64, false, false), nullptr);
}

TEST(File, NamesThePathAndTheNearest) {
  Json json = Small();
  json["device"]["memory"]["bandwith"] = json["device"]["memory"]["bandwidth"];
  EXPECT_THAT(Refusal(json), AllOf(HasSubstr("x.json: device.memory.bandwith"),
                                   HasSubstr("did you mean device.memory.bandwidth?")));
  json = Small();
  json["links"]["net"]["latensy"] = 1;
  EXPECT_THAT(Refusal(json), HasSubstr("did you mean links.net.latency?"));
  json = Small();
  json["thermals"] = Json::object();
  EXPECT_THAT(Refusal(json), HasSubstr("thermals"));
}

TEST(File, NumbersSayWhereTheyComeFrom) {
  Json json = Small();
  json["node"]["devices"] = 4;
  EXPECT_THAT(Refusal(json), HasSubstr("node.devices: expected {\"value\", \"unit\""));
  for (const char* key : {"unit", "source", "reference"}) {
    json = Small();
    json["device"]["memory"]["capacity"].erase(key);
    EXPECT_THAT(Refusal(json), HasSubstr(std::string("device.memory.capacity.") + key));
  }
  json = Small();
  json["device"]["memory"]["capacity"]["source"] = "guess";
  EXPECT_THAT(Refusal(json), HasSubstr("expected datasheet, measured, fitted"));
  json = Small();
  json["device"]["memory"]["capacity"]["unit"] = "GB/s";
  EXPECT_THAT(Refusal(json), HasSubstr("'GB/s' is no unit of a size; expected B, kB"));
  json = Small();
  json["links"]["net"]["bandwidth"].erase("ways");
  EXPECT_THAT(Refusal(json), HasSubstr("links.net.bandwidth.ways"));
  json = Small();
  json["device"]["memory"]["bandwidth"]["ways"] = "one";
  EXPECT_THAT(Refusal(json), HasSubstr("device.memory.bandwidth.ways: no such key"));
}

TEST(File, WhatIsMissingOrDamaged) {
  Json json = Small();
  json["node"].erase("devices");
  EXPECT_THAT(Refusal(json), HasSubstr("node.devices is missing; expected a count in 1"));
  json = Small();
  json["device"]["vector"].erase("float32");
  EXPECT_THAT(Refusal(json), HasSubstr("device.vector.float32 is missing"));
  const auto refused = [](std::string_view text) {
    const Result<MachineModel> machine = ReadMachine(text, "x.json");
    return machine ? "" : machine.error().message;
  };
  EXPECT_THAT(refused("{\"format\": "), HasSubstr("no JSON"));
  EXPECT_THAT(refused("[]"), HasSubstr("expected one object"));
  EXPECT_THAT(refused("{}"), HasSubstr("no machine file"));
  EXPECT_THAT(refused(R"({"format": "reprise-machine", "version": 2})"), HasSubstr("version"));
  EXPECT_THAT(refused(R"({"format": "reprise-machine", "format": "x"})"),
              HasSubstr("'format' stands twice"));
}

TEST(File, DefaultsSayThatTheyAre) {
  const MachineModel machine = *ReadMachine(Small().dump(), "x.json");
  EXPECT_EQ(machine.device.gemm_efficiency.source, NumberSource::kDefault);
  EXPECT_EQ(machine.links[0].efficiency.source, NumberSource::kDefault);
  EXPECT_DOUBLE_EQ(machine.device.launch_latency_ns.value, 8000);
  Json cpu = Small();
  cpu["device"]["kind"] = "cpu";
  EXPECT_DOUBLE_EQ(ReadMachine(cpu.dump(), "x.json")->device.launch_latency_ns.value, 0);
}

// Each of these files is well-formed; its numbers cannot all be true.
TEST(Checks, ContradictoryNumbers) {
  Json json = Small();
  json["device"]["matrix"]["bfloat16"] = json["device"]["matrix"]["float16"];
  json["device"]["matrix"]["float8"] = json["device"]["matrix"]["float16"];
  json["device"]["matrix"]["float8"]["value"] = 50;
  EXPECT_THAT(Refusal(json), HasSubstr("is one of the two with sparsity?"));
  json = Small();
  json["device"]["matrix"]["float32"] = json["device"]["matrix"]["float16"];
  json["device"]["matrix"]["float32"]["value"] = 5;
  EXPECT_THAT(Refusal(json), HasSubstr("are the two exchanged?"));
  json = Small();
  json["links"]["package"]["bandwidth"]["value"] = 1600;
  EXPECT_THAT(Refusal(json), HasSubstr("is it of the whole node, or in bits?"));
  json = Small();
  json["links"]["board"]["short_latency"]["value"] = 3;
  EXPECT_THAT(Refusal(json), HasSubstr("links.board.short_latency"));
  json = Small();
  json["links"]["board"]["devices"]["value"] = 3;
  EXPECT_THAT(Refusal(json), HasSubstr("domains nest"));
  json = Small();
  json["links"]["package"]["job_devices"] = json["links"]["package"]["devices"];
  EXPECT_THAT(Refusal(json), HasSubstr("links.package.job_devices is"));
  json = Small();
  json["links"]["board"]["job_devices"] = json["links"]["board"]["devices"];
  json["links"]["board"]["job_devices"]["value"] = 1000;
  EXPECT_THAT(Refusal(json), HasSubstr("links.board.job_devices is 1000"));
  json = Small();
  json["links"]["board"]["bandwidth"]["per"] = "node";
  EXPECT_THAT(Refusal(json), HasSubstr("lies inside a node"));
  json = Small();
  json["links"]["net"]["devices"] = json["links"]["board"]["devices"];
  json["links"]["net"]["bandwidth"]["per"] = "device";
  EXPECT_THAT(Refusal(json), HasSubstr("span the same devices"));
  json = Small();
  json.erase("links");
  EXPECT_THAT(Refusal(json), HasSubstr("no link joins them"));
  json = Small();
  json["node"]["devices"]["value"] = 2.5;
  EXPECT_THAT(Refusal(json), HasSubstr("expected a whole number"));
  json = Small();
  json["device"]["efficiency"]["gemm"] = json["node"]["devices"];
  EXPECT_THAT(Refusal(json), HasSubstr("expected more than 0 and at most 1"));
}

Json WithPower() { return Json::parse(ToJson(*LoadMachine("h100-hgx")).dump()); }

TEST(Power, PartsAreRefused) {
  auto json = WithPower();
  json["device"]["power"].erase("memory");
  EXPECT_THAT(Refusal(json), HasSubstr("device.power is not complete"));
  json = WithPower();
  json["device"]["power"] = {{"limit_window", json["device"]["power"]["limit_window"]}};
  json["device"].erase("clock");
  json["device"].erase("thermal");
  EXPECT_THAT(Refusal(json), HasSubstr("limit_window needs device.power.limit"));
  json = WithPower();
  json["device"]["clock"].erase("ridge");
  EXPECT_THAT(Refusal(json), HasSubstr("device.clock is not complete"));
  json = WithPower();
  json["device"]["thermal"].erase("capacity");
  EXPECT_THAT(Refusal(json), HasSubstr("device.thermal is not complete"));
  json = WithPower();
  json["device"]["thermal"].erase("preheat");
  EXPECT_THAT(Refusal(json), HasSubstr("belong together"));
  json = WithPower();
  json["device"]["thermal"]["rows"]["value"] = 3;
  EXPECT_THAT(Refusal(json), HasSubstr("does not divide node.devices"));
  json = WithPower();
  json["device"]["thermal"]["inlet"]["value"] = 90;
  EXPECT_THAT(Refusal(json), HasSubstr("is not below device.thermal.throttle"));
}

TEST(Power, AMachineMayHaveNone) {
  auto json = WithPower();
  json["device"].erase("power");
  json["device"].erase("clock");
  json["device"].erase("thermal");
  const Result<MachineModel> machine = ReadMachine(json.dump(), "cold.json");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_FALSE(HasPower(machine->device));
  EXPECT_TRUE(HasThermal(LoadMachine("h100-hgx")->device));
  EXPECT_TRUE(HasClockCurve(LoadMachine("mi250-study")->device));
}

TEST(Set, KeepsTheUnitOrTakesAnother) {
  MachineModel machine = *LoadMachine("h100-study");
  ASSERT_TRUE(Override(machine, "links.infiniband.bandwidth=400"));
  EXPECT_DOUBLE_EQ(machine.DomainBandwidth(1), 50e9);
  ASSERT_TRUE(Override(machine, "links.nvlink.bandwidth=1TB/s"));  // both ways, as the file has it
  EXPECT_DOUBLE_EQ(machine.DomainBandwidth(0), 500e9);
  ASSERT_TRUE(Override(machine, "device.efficiency.gemm=55 %"));
  EXPECT_DOUBLE_EQ(machine.device.gemm_efficiency.value, 0.55);
  EXPECT_EQ(machine.device.gemm_efficiency.source, NumberSource::kGiven);
  ASSERT_TRUE(Override(machine, "device.power.idle=70"));  // not in the file
  EXPECT_DOUBLE_EQ(machine.device.power.idle_watts->value, 70);
}

TEST(Set, Refuses) {
  MachineModel machine = *LoadMachine("a100-hgx");
  const auto message = [&machine](const std::string& assignment) {
    const Status status = Override(machine, assignment);
    EXPECT_FALSE(status) << assignment;
    EXPECT_EQ(status ? ErrorKind::kUsage : status.error().kind, ErrorKind::kUsage);
    return status ? "" : status.error().message;
  };
  EXPECT_THAT(message("device.memory.bandwidht=1"),
              HasSubstr("did you mean device.memory.bandwidth"));
  EXPECT_THAT(message("device.memory.bandwidth"), HasSubstr("expected PATH=VALUE"));
  EXPECT_THAT(message("device.memory.bandwidth=fast"), HasSubstr("'fast' is no number"));
  EXPECT_THAT(message("device.memory.bandwidth=1GB"), HasSubstr("'GB' is no unit of a bandwidth"));
  EXPECT_THAT(message("device.memory.bandwidth=-1"), HasSubstr("expected more than 0"));
  EXPECT_THAT(message("node.devices=0.5"), HasSubstr("whole number"));
  // What contradicts the rest is found after all are applied.
  const Result<MachineModel> contradiction = LoadMachine("a100-hgx", {"device.matrix.bfloat16=1"});
  ASSERT_FALSE(contradiction);
  EXPECT_THAT(contradiction.error().message, HasSubstr("sparsity"));
}

// A file that says in what its machine differs from a built-in one.
Json Like(const std::string& machine) {
  return {{"format", "reprise-machine"},
          {"version", 1},
          {"name", "mine"},
          {"about", "for tests"},
          {"like", machine}};
}

TEST(Like, HasTheOthersNumbersAndItsOwn) {
  Json json = Like("h100-hgx");
  json["node"]["nodes"] = {{"value", 3}, {"unit", "1"}, {"source", "given"}, {"reference", "test"}};
  json["device"]["power"]["limit"] = {
      {"value", 0.5}, {"unit", "kW"}, {"source", "given"}, {"reference", "test"}};
  json["links"]["infiniband"]["energy"] = {
      {"value", 9}, {"unit", "pJ/B"}, {"source", "given"}, {"reference", "test"}};
  json["links"]["nvlink"]["in_switch"] = nullptr;
  json["links"]["nvlink"]["in_switch_latency"] = nullptr;
  json["node"]["rest_power"] = nullptr;
  const Result<MachineModel> mine = ReadMachine(json.dump(), "mine.json");
  ASSERT_TRUE(mine) << mine.error().message;
  MachineModel expected = *LoadMachine("h100-hgx");
  expected.node.nodes = SourcedNumber{3, "1", NumberSource::kGiven, "test"};
  expected.device.power.limit_watts = SourcedNumber{500, "kW", NumberSource::kGiven, "test"};
  expected.links[1].joules_per_byte = SourcedNumber{9e-12, "pJ/B", NumberSource::kGiven, "test"};
  expected.links[0].in_switch.reset();
  expected.links[0].in_switch_latency_ns.reset();
  expected.node.rest_watts.reset();
  EXPECT_TRUE(SameNumbers(*mine, expected));
  EXPECT_EQ(mine->name, "mine");
  EXPECT_EQ(mine->about, "for tests");
  EXPECT_EQ(mine->fits, expected.fits);
  EXPECT_EQ(mine->device.recorded_as, expected.device.recorded_as);
  EXPECT_EQ(FindClass(mine->device, OpClass::kGemm)->parts.memory->source, NumberSource::kFitted);
  // What is written has all numbers, and names no other machine.
  EXPECT_FALSE(ToJson(*mine).contains("like"));
  EXPECT_TRUE(SameNumbers(*ReadMachine(ToJson(*mine).dump(), "again.json"), *mine));
}

TEST(Like, NumbersOfAnotherDeviceAreDefaults) {
  Json json = Like("h100-hgx");
  json["device"]["name"] = "another";
  const Result<MachineModel> mine = ReadMachine(json.dump(), "mine.json");
  ASSERT_TRUE(mine) << mine.error().message;
  EXPECT_TRUE(SameNumbers(*mine, *LoadMachine("h100-hgx")));
  const SourcedNumber& memory = *FindClass(mine->device, OpClass::kGemm)->parts.memory;
  EXPECT_EQ(memory.source, NumberSource::kDefault);
  EXPECT_THAT(memory.reference, ::testing::StartsWith("as h100-hgx: 10,119 rows"));
  EXPECT_EQ(mine->device.power.limit_watts->source, NumberSource::kDatasheet);
  EXPECT_TRUE(mine->fits.empty());
  EXPECT_TRUE(mine->device.recorded_as.empty());
}

TEST(Like, Refuses) {
  EXPECT_THAT(Refusal(Like("h100-hgxx")),
              AllOf(HasSubstr("no built-in machine 'h100-hgxx'"), HasSubstr("h100-hgx?")));
  EXPECT_THAT(Refusal(Like("./own.json")), HasSubstr("no built-in machine"));
  Json json = Like("h100-hgx");
  json["like"] = 3;
  EXPECT_THAT(Refusal(json), HasSubstr("like: expected a text"));
  json = Like("h100-hgx");
  json["node"]["nodes"] = nullptr;
  EXPECT_THAT(Refusal(json), HasSubstr("node.nodes: null removes"));
  json = Like("h100-hgx");
  json["node"]["dvices"] = 3;
  EXPECT_THAT(Refusal(json), HasSubstr("node.dvices: no such number; did you mean node.devices?"));
  json = Like("h100-hgx");
  json["device"]["memory"] = nullptr;
  EXPECT_THAT(Refusal(json), HasSubstr("device.memory.capacity is missing"));
  for (const char* const own : {"format", "name", "about"}) {
    json = Like("h100-hgx");
    json.erase(own);
    EXPECT_THAT(Refusal(json), HasSubstr(own));
  }
  json = Like("h100-hgx");
  for (const Json& wrong : {Json(3), Json("x"), Json::array(), Json{{"value", 3}}}) {
    for (const char* const key : {"device", "links", "node"}) {
      json = Like("h100-hgx");
      json[key] = wrong;
      EXPECT_NE(Refusal(json), "") << key << " " << wrong;
    }
  }
}

Json WithClasses() {
  const auto number = [](double value, const char* unit) {
    return Json{{"value", value}, {"unit", unit}, {"source", "fitted"}, {"reference", "test"}};
  };
  Json json = Small();
  json["device"]["classes"] = {
      {"gemm",
       {{"rate", number(0.6, "1")},
        {"start", number(3, "us")},
        {"types", {{"float16", {{"rate", number(0.5, "1")}, {"memory", number(1.5, "1")}}}}}}}};
  json["calibration"] = {
      {"on", "two captures"}, {"points", number(12, "1")}, {"error", number(7, "%")}};
  return json;
}

TEST(Machine, KeepsFittedClassesAndWhatTheyAreFittedTo) {
  const Result<MachineModel> machine = ReadMachine(WithClasses().dump(), "x.json");
  ASSERT_TRUE(machine) << machine.error().message;
  const Result<MachineModel> again = ReadMachine(ToJson(*machine).dump(), "again");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(SameNumbers(*machine, *again));
  EXPECT_EQ(ToJson(*again), ToJson(*machine));
  const ClassEfficiency* const gemm = FindClass(again->device, OpClass::kGemm);
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->parts.rate->value, 0.6);
  EXPECT_EQ(gemm->start_ns->value, 3000);
  ASSERT_NE(FindType(*gemm, DType::kFloat16), nullptr);
  EXPECT_EQ(FindType(*gemm, DType::kFloat16)->parts.memory->value, 1.5);
  EXPECT_EQ(FindType(*gemm, DType::kFloat32), nullptr);
  EXPECT_EQ(FindClass(again->device, OpClass::kConv), nullptr);
  EXPECT_EQ(again->calibration->on, "two captures");
  EXPECT_EQ(again->calibration->points->value, 12);
  EXPECT_EQ(again->calibration->error->value, 0.07);
  EXPECT_FALSE(SameNumbers(*machine, *ReadMachine(Small().dump(), "small")));
}

TEST(Machine, RefusesUnknownClassesAndTypes) {
  Json json = WithClasses();
  json["device"]["classes"]["gem"] = Json::object();
  EXPECT_THAT(Refusal(json), AllOf(HasSubstr("device.classes.gem"), HasSubstr("gemm")));
  json = WithClasses();
  json["device"]["classes"]["gemm"]["types"]["half"] = Json::object();
  EXPECT_THAT(Refusal(json), HasSubstr("device.classes.gemm.types.half"));
  json = WithClasses();
  json["device"]["classes"]["gemm"]["rate"]["value"] = 17;
  EXPECT_THAT(Refusal(json), AllOf(HasSubstr("device.classes.gemm.rate"), HasSubstr("at most 16")));
  json = WithClasses();
  json["calibration"].erase("on");
  EXPECT_THAT(Refusal(json), HasSubstr("calibration.on"));
}

TEST(Override, AnotherHighestClockTakesRatesAndEnergiesAlong) {
  MachineModel machine = *LoadMachine("h100-hgx");
  const MachineModel before = machine;
  ASSERT_TRUE(Override(machine, "device.clock.max=1552.5MHz"));  // half of the way to the ridge
  const double clock = 1552.5 / 1830;
  const double low = before.device.power.low_voltage->value;
  const double voltage = low + (1 - low) * (clock - 1275.0 / 1830) / (1 - 1275.0 / 1830);
  for (std::size_t i = 0; i < kRateFormats; ++i) {
    const auto ratio = [i](const auto& now, const auto& then) {
      return then[i] ? now[i]->value / then[i]->value : 0;
    };
    for (const auto rates :
         {&DeviceModel::matrix_flops_per_second, &DeviceModel::vector_flops_per_second}) {
      EXPECT_THAT(ratio(machine.device.*rates, before.device.*rates),
                  testing::AnyOf(0, testing::DoubleNear(clock, 1e-12)));
    }
    for (const auto energies :
         {&PowerModel::matrix_joules_per_flop, &PowerModel::vector_joules_per_flop}) {
      EXPECT_THAT(ratio(machine.device.power.*energies, before.device.power.*energies),
                  testing::AnyOf(0, testing::DoubleNear(voltage * voltage, 1e-12)));
    }
  }
  // Below, the curve in hertz and in joules is what it was: at the ridge the voltage is as low.
  EXPECT_NEAR(machine.device.power.low_voltage->value * voltage, low, 1e-12);
  EXPECT_EQ(machine.device.power.clock_ridge_hertz->value, 1275e6);
  EXPECT_EQ(machine.device.memory_bytes_per_second.value,
            before.device.memory_bytes_per_second.value);
  EXPECT_EQ(machine.device.power.matrix_joules_per_flop[0]->source, NumberSource::kGiven);

  // Below the ridge too.
  ASSERT_TRUE(Override(machine, "device.clock.max=1000MHz"));
  EXPECT_EQ(machine.device.power.clock_ridge_hertz->value, 1000e6);
  EXPECT_NEAR(machine.device.power.low_voltage->value, 1, 1e-12);
  EXPECT_TRUE(CheckMachine(machine, "x"));
}

// What is set for the device stands instead of what its classes have of their own.
TEST(Override, AGivenEfficiencyHasAnEffect) {
  const auto with = [](const std::string& assignment) {
    MachineModel machine = *LoadMachine("h100-hgx");
    ClassEfficiency* const gemm = &machine.device.classes.at(0);
    EXPECT_EQ(gemm->op_class, OpClass::kGemm);
    gemm->types.push_back({.dtype = DType::kBFloat16, .parts = gemm->parts});
    EXPECT_TRUE(Override(machine, assignment)) << assignment;
    return machine.device.classes;
  };
  const std::vector<ClassEfficiency> gemm_given = with("device.efficiency.gemm=0.5");
  EXPECT_FALSE(gemm_given[0].parts.rate);
  EXPECT_FALSE(gemm_given[0].types[0].parts.rate);
  EXPECT_TRUE(gemm_given[0].parts.memory);
  EXPECT_TRUE(gemm_given[1].parts.rate);  // of attention
  for (const ClassEfficiency& of_class : with("device.efficiency.memory=0.5")) {
    EXPECT_FALSE(of_class.parts.memory);
    EXPECT_EQ(of_class.parts.rate.has_value(), IsProduct(of_class.op_class));
  }
  const std::vector<ClassEfficiency> class_given = with("device.classes.gemm.rate=0.5");
  EXPECT_DOUBLE_EQ(class_given[0].parts.rate->value, 0.5);
  EXPECT_FALSE(class_given[0].types[0].parts.rate);
  EXPECT_TRUE(class_given[0].types[0].parts.memory);
}

TEST(Override, ANodeOfOtherDevicesIsWhole) {
  for (const std::string& name : MachineNames()) {
    for (const char* devices : {"1", "2", "4", "16"}) {
      MachineModel machine = *LoadMachine(name);
      if (machine.links.empty()) {
        continue;  // one device
      }
      const std::int64_t joined = machine.links.front().spans();
      if (joined > static_cast<std::int64_t>(machine.node.devices.value) &&
          joined % std::stoll(devices) != 0) {
        continue;  // a link of several nodes has whole nodes
      }
      ASSERT_TRUE(Override(machine, std::string("node.devices=") + devices)) << name;
      const Status checked = CheckMachine(machine, name);
      EXPECT_TRUE(checked) << devices << ": " << checked.error().message;
    }
  }
}

}  // namespace
}  // namespace reprise
