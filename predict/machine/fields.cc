#include "predict/machine/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace reprise {
namespace {

constexpr std::string_view kNoFit = "nothing is measured or fitted; `--set` gives another";
// NCCL's own model of what a collective takes, which was fitted by its authors: nccl 2.10
// src/graph/tuning.cc (baseLat, hwLat).
constexpr std::string_view kNcclStart =
    "NCCL 2.10 src/graph/tuning.cc: baseLat of a ring, protocol Simple";
constexpr std::string_view kNcclShortPart =
    "NCCL 2.10 src/graph/tuning.cc: protocol LL reaches a quarter of the bandwidth";
constexpr std::string_view kNotSlowed =
    "transfers are taken to slow no kernel; arXiv 2507.03114 measured kernels 18.9 % longer beside "
    "them (mean of A100, H100, MI210, MI250), which is 0.84";
constexpr std::string_view kNcclChunk = "NCCL: a tree's chunk is of this order";

// L2 caches of GPUs are up to 5 times as fast as their memory, tf32 8 times as float32.
constexpr double kLargestPart = 16;
// A size beyond all operations' would be another unit's number.
constexpr double kLargestHalf = 65536;

class FieldList {
 public:
  explicit FieldList(std::vector<MachineField>& fields) : fields_(fields) {}

  void Required(std::string path, Dimension dimension, SourcedNumber& number,
                double largest_ratio = 1) {
    fields_.push_back({std::move(path), dimension, &number, nullptr, std::nullopt, nullptr});
    fields_.back().largest_ratio = largest_ratio;
  }
  void Defaulted(std::string path, Dimension dimension, SourcedNumber& number,
                 DefaultNumber fallback) {
    fields_.push_back({std::move(path), dimension, &number, nullptr, fallback, nullptr});
  }
  void Optional(std::string path, Dimension dimension, OptionalNumber& number) {
    fields_.push_back({std::move(path), dimension, nullptr, &number, std::nullopt, nullptr});
  }
  void Part(std::string path, OptionalNumber& number) {
    Optional(std::move(path), Dimension::kRatio, number);
    fields_.back().largest_ratio = kLargestPart;
  }
  void Shape(const std::string& at, ShapeParts& shape) {
    for (const auto& [name, number] : {std::pair("half_m", &shape.half_m),
                                       {"half_n", &shape.half_n},
                                       {"half_k", &shape.half_k}}) {
      Optional(at + name, Dimension::kRatio, *number);
      fields_.back().largest_ratio = kLargestHalf;
    }
    Optional(at + "waves", Dimension::kRatio, shape.waves);
    Optional(at + "backward", Dimension::kRatio, shape.backward);
    Optional(at + "unaligned", Dimension::kRatio, shape.unaligned);
  }
  void Bandwidth(std::string path, LinkLevel& link) {
    fields_.push_back({std::move(path), Dimension::kBandwidth, nullptr, &link.bytes_per_second,
                       std::nullopt, &link});
  }

 private:
  std::vector<MachineField>& fields_;
};

// One number for each format, of matrix units and of the others.
void AddFormats(std::string_view at, Dimension dimension,
                std::array<OptionalNumber, kRateFormats>& matrix,
                std::array<OptionalNumber, kRateFormats>& vector, FieldList& list) {
  for (auto* const numbers : {&matrix, &vector}) {
    for (std::size_t i = 0; i < kRateFormats; ++i) {
      list.Optional(fmt::format("{}.{}.{}", at, numbers == &matrix ? "matrix" : "vector",
                                Name(static_cast<RateFormat>(i))),
                    dimension, (*numbers)[i]);
    }
  }
}

void AddPower(PowerModel& power, FieldList& list) {
  list.Optional("device.power.limit", Dimension::kPower, power.limit_watts);
  list.Optional("device.power.limit_window", Dimension::kTime, power.limit_window_ns);
  list.Optional("device.power.idle", Dimension::kPower, power.idle_watts);
  AddFormats("device.power", Dimension::kFlopEnergy, power.matrix_joules_per_flop,
             power.vector_joules_per_flop, list);
  list.Optional("device.power.memory", Dimension::kByteEnergy, power.memory_joules_per_byte);
  list.Optional("device.power.low_voltage", Dimension::kRatio, power.low_voltage);
  list.Optional("device.clock.max", Dimension::kClock, power.clock_max_hertz);
  list.Optional("device.clock.min", Dimension::kClock, power.clock_min_hertz);
  list.Optional("device.clock.ridge", Dimension::kClock, power.clock_ridge_hertz);
  list.Optional("device.clock.step", Dimension::kClock, power.clock_step_hertz);
}

void AddThermal(ThermalModel& thermal, FieldList& list) {
  list.Optional("device.thermal.resistance", Dimension::kThermalResistance,
                thermal.kelvin_per_watt);
  list.Optional("device.thermal.capacity", Dimension::kThermalCapacity, thermal.joules_per_kelvin);
  list.Optional("device.thermal.inlet", Dimension::kTemperature, thermal.inlet_celsius);
  list.Optional("device.thermal.throttle", Dimension::kTemperature, thermal.throttle_celsius);
  list.Optional("device.thermal.rows", Dimension::kCount, thermal.rows);
  list.Optional("device.thermal.row_devices", Dimension::kCount, thermal.row_devices);
  list.Optional("device.thermal.preheat", Dimension::kThermalResistance,
                thermal.preheat_kelvin_per_watt);
}

void AddDevice(DeviceModel& device, FieldList& list) {
  list.Required("device.memory.capacity", Dimension::kBytes, device.memory_bytes);
  list.Required("device.memory.bandwidth", Dimension::kBandwidth, device.memory_bytes_per_second);
  AddFormats("device", Dimension::kRate, device.matrix_flops_per_second,
             device.vector_flops_per_second, list);
  list.Optional("device.multiprocessors", Dimension::kCount, device.multiprocessors);
  list.Defaulted("device.efficiency.gemm", Dimension::kRatio, device.gemm_efficiency,
                 {0.7, "1", kNoFit});
  list.Defaulted("device.efficiency.attention", Dimension::kRatio, device.attention_efficiency,
                 {0.5, "1", kNoFit});
  list.Defaulted("device.efficiency.conv", Dimension::kRatio, device.conv_efficiency,
                 {0.5, "1", kNoFit});
  list.Defaulted("device.efficiency.memory", Dimension::kRatio, device.memory_efficiency,
                 {0.8, "1", kNoFit});
  for (ClassEfficiency& of_class : device.classes) {
    const std::string at = fmt::format("device.classes.{}.", Name(of_class.op_class));
    list.Part(at + "rate", of_class.parts.rate);
    list.Part(at + "memory", of_class.parts.memory);
    list.Shape(at, of_class.shape);
    list.Optional(at + "start", Dimension::kTime, of_class.start_ns);
    for (ClassEfficiency::OfType& of_type : of_class.types) {
      const std::string type = fmt::format("{}types.{}.", at, Name(of_type.dtype));
      list.Part(type + "rate", of_type.parts.rate);
      list.Part(type + "memory", of_type.parts.memory);
      list.Shape(type, of_type.shape);
      list.Optional(type + "start", Dimension::kTime, of_type.start_ns);
    }
  }
  for (ExpertNumbers& experts : device.experts) {
    const std::string at = fmt::format("device.experts.{}.", Name(experts.dtype));
    list.Required(at + "rate", Dimension::kRatio, experts.rate, kLargestPart);
    list.Required(at + "half_m", Dimension::kRatio, experts.half_m, kLargestHalf);
    list.Required(at + "memory", Dimension::kRatio, experts.memory, kLargestPart);
    list.Required(at + "moving", Dimension::kRatio, experts.moving, kLargestPart);
    list.Required(at + "start", Dimension::kTime, experts.start_ns);
  }
  const bool launches = device.kind == DeviceKind::kGpu;
  list.Defaulted("device.launch_latency", Dimension::kTime, device.launch_latency_ns,
                 launches ? DefaultNumber{8, "us",
                                          "captures of RTX 2080 to A100 and MI250: medians of 6 to "
                                          "16 us from launch to start on an idle stream"}
                          : DefaultNumber{0, "us", "operations run on the host's threads"});
  list.Defaulted("device.least_kernel_time", Dimension::kTime, device.kernel_least_ns,
                 launches ? DefaultNumber{2, "us",
                                          "captures of RTX 2080 to A100 and MI250: 1 to 2 us from "
                                          "kernel to kernel on a busy stream"}
                          : DefaultNumber{0, "us", "operations run on the host's threads"});
  list.Defaulted("device.beside_transfers.compute", Dimension::kRatio, device.beside_compute,
                 {1, "1", kNotSlowed});
  list.Defaulted("device.beside_transfers.memory", Dimension::kRatio, device.beside_memory,
                 {1, "1", kNotSlowed});
  AddPower(device.power, list);
  AddThermal(device.thermal, list);
}

void AddLink(LinkLevel& link, FieldList& list) {
  const std::string at = fmt::format("links.{}.", link.name);
  list.Optional(at + "devices", Dimension::kCount, link.devices);
  list.Optional(at + "job_devices", Dimension::kCount, link.job_devices);
  list.Bandwidth(at + "bandwidth", link);
  list.Optional(at + "oversubscription", Dimension::kRatio, link.oversubscription);
  list.Required(at + "latency", Dimension::kTime, link.latency_ns);
  list.Optional(at + "short_latency", Dimension::kTime, link.short_latency_ns);
  list.Defaulted(at + "efficiency", Dimension::kRatio, link.efficiency, {0.8, "1", kNoFit});
  list.Optional(at + "in_switch", Dimension::kRatio, link.in_switch);
  list.Optional(at + "in_switch_latency", Dimension::kTime, link.in_switch_latency_ns);
  list.Optional(at + "energy", Dimension::kByteEnergy, link.joules_per_byte);
}

}  // namespace

std::vector<MachineField> FieldsOf(MachineModel& machine) {
  std::vector<MachineField> fields;
  FieldList list(fields);
  AddDevice(machine.device, list);
  list.Defaulted("host.launch_time", Dimension::kTime, machine.host.launch_ns,
                 machine.device.kind == DeviceKind::kGpu
                     ? DefaultNumber{5, "us", kNoFit}
                     : DefaultNumber{0, "us", "operations run on the host's threads"});
  list.Required("node.devices", Dimension::kCount, machine.node.devices);
  list.Optional("node.nodes", Dimension::kCount, machine.node.nodes);
  list.Optional("node.rest_power", Dimension::kPower, machine.node.rest_watts);
  for (LinkLevel& link : machine.links) {
    AddLink(link, list);
  }
  list.Defaulted("collectives.start", Dimension::kTime, machine.collectives.start_ns,
                 {8.4, "us", kNcclStart});
  list.Optional("collectives.short_start", Dimension::kTime, machine.collectives.short_start_ns);
  list.Optional("collectives.exchange_start", Dimension::kTime,
                machine.collectives.exchange_start_ns);
  list.Optional("collectives.exchange_short_part", Dimension::kRatio,
                machine.collectives.exchange_short_part);
  list.Optional("collectives.own_share", Dimension::kRatio, machine.collectives.own_share);
  list.Defaulted("collectives.chunk", Dimension::kBytes, machine.collectives.chunk_bytes,
                 {512, "KiB", kNcclChunk});
  list.Defaulted("collectives.short_part", Dimension::kRatio, machine.collectives.short_part,
                 {0.25, "1", kNcclShortPart});
  if (machine.calibration) {
    list.Optional("calibration.points", Dimension::kCount, machine.calibration->points);
    list.Optional("calibration.error", Dimension::kRatio, machine.calibration->error);
    fields.back().largest_ratio = 1e6;
  }
  return fields;
}

Status CheckNumber(const MachineField& field, double value) {
  const auto wrong = [&field, value](std::string_view rule) {
    const std::string_view unit = BaseUnit(field.dimension);
    return BadInput(fmt::format("{} is {}{}{}; {}", field.path, value, unit == "1" ? "" : " ",
                                unit == "1" ? "" : unit, rule));
  };
  if (!std::isfinite(value)) {
    return wrong("expected a finite number");
  }
  switch (field.dimension) {
    case Dimension::kRatio:
      // Oversubscription is how many times too little there is.
      if (field.path.ends_with("oversubscription")) {
        return value >= 1 ? Status{} : wrong("a network has no less than 1");
      }
      return value > 0 && value <= field.largest_ratio
                 ? Status{}
                 : wrong(fmt::format("expected more than 0 and at most {:g}", field.largest_ratio));
    case Dimension::kCount:
      return value >= 1 && value <= 1e9 && value == std::floor(value)
                 ? Status{}
                 : wrong("expected a whole number from 1 on");
    case Dimension::kTime:
      return value >= 0 && value <= 1e12 ? Status{} : wrong("expected 0 to 1000 s");
    case Dimension::kTemperature:
      return value > -50 && value < 200 ? Status{} : wrong("expected -50 to 200 C");
    case Dimension::kRate:
    case Dimension::kBytes:
    case Dimension::kBandwidth:
    case Dimension::kPower:
    case Dimension::kFlopEnergy:
    case Dimension::kByteEnergy:
    case Dimension::kClock:
    case Dimension::kThermalResistance:
    case Dimension::kThermalCapacity:
      return value > 0 && value < 1e21 ? Status{} : wrong("expected more than 0");
  }
  return {};
}

bool SameNumbers(const MachineModel& a, const MachineModel& b) {
  MachineModel left = a;
  MachineModel right = b;
  left.calibration.reset();  // what they come from
  right.calibration.reset();
  const std::vector<MachineField> of_left = FieldsOf(left);
  const std::vector<MachineField> of_right = FieldsOf(right);
  return std::equal(
      of_left.begin(), of_left.end(), of_right.begin(), of_right.end(),
      [](const MachineField& x, const MachineField& y) {
        const SourcedNumber* const in_x = x.Present();
        const SourcedNumber* const in_y = y.Present();
        return x.path == y.path &&
               (in_x == nullptr || in_y == nullptr ? in_x == in_y : in_x->value == in_y->value);
      });
}

}  // namespace reprise
