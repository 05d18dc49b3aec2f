#include "report/compare/share.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/machine/catalogue.h"

namespace reprise {
namespace {

constexpr double kNsPerSecond = 1e9;

struct ComputedType {
  DType dtype = DType::kUnknown;
  bool tf32 = false;
};

ComputedType TypeOfPair(const TimedOperation& of, const TimedOperation& other) {
  const TimedOperation& known = of.dtype == DType::kUnknown ? other : of;
  return {known.dtype, known.tf32};
}

// Nothing: the device has no rate for the type.
std::optional<AchievedUse> UseOf(const TimedOperation& of, ComputedType type,
                                 const DeviceModel& device) {
  AchievedUse use{.flops = of.flops, .bytes = of.bytes, .ns = static_cast<double>(of.time_ns)};
  use.bytes_ns = of.bytes / device.memory_bytes_per_second.value * kNsPerSecond;
  if (of.flops > 0) {
    const SourcedNumber* rate = PeakRate(device, type.dtype, IsProduct(of.op_class), type.tf32);
    if (rate == nullptr) {
      // Comparisons and additions of integers: the memory bounds them.
      if (IsProduct(of.op_class)) {
        return std::nullopt;
      }
      use.rate_known = false;
    } else {
      use.flops_ns = of.flops / rate->value * kNsPerSecond;
    }
  }
  use.ideal_ns = std::max(use.flops_ns, use.bytes_ns);
  return use;
}

void AddUse(AchievedUse& sum, const AchievedUse& of) {
  sum.flops += of.flops;
  sum.bytes += of.bytes;
  sum.ns += of.ns;
  sum.ideal_ns += of.ideal_ns;
  sum.flops_ns += of.flops_ns;
  sum.bytes_ns += of.bytes_ns;
  sum.rate_known = sum.rate_known && of.rate_known;
}

}  // namespace

std::optional<DeviceModel> KnownDevice(std::string_view recorded_device) {
  const std::vector<std::string> machines = MachinesOfDevice(recorded_device);
  if (recorded_device.empty() || machines.empty()) {
    return std::nullopt;
  }
  auto machine = LoadMachine(machines.front());
  return machine ? std::optional(std::move(machine->device)) : std::nullopt;
}

void ShareTable::Add(const TimedOperation& a, const TimedOperation& b) {
  const bool known = a.flops + a.bytes > 0 && b.flops + b.bytes > 0 && a.time_ns > 0 &&
                     b.time_ns > 0 && a.on_device && b.on_device && !a.transfer &&
                     a.op_class != OpClass::kMemcpy;  // over the host's link, most of them
  if (!BothKnown() || !known) {
    return;
  }
  const ComputedType type_a = TypeOfPair(a, b);
  const ComputedType type_b = TypeOfPair(b, a);
  const auto of_a = UseOf(a, type_a, *a_);
  const auto of_b = UseOf(b, type_b, *b_);
  if (!of_a || !of_b) {
    ++without_rate_[a.op_class];
    types_without_rate_.insert(of_a ? type_b.dtype : type_a.dtype);
    return;
  }
  if (of_a->ideal_ns <= 0 || of_b->ideal_ns <= 0) {
    return;
  }
  ShareRow& row = rows_[a.op_class];
  row.op_class = Name(a.op_class);
  ++row.count;
  AddUse(row.a, *of_a);
  AddUse(row.b, *of_b);
}

std::string ShareTable::LeftOut() const {
  std::string classes;
  for (const auto& [op_class, count] : without_rate_) {
    classes += fmt::format("{}{} of {}", classes.empty() ? "" : ", ", count, Name(op_class));
  }
  std::string types;
  for (const DType type : types_without_rate_) {
    types += fmt::format("{}{}", types.empty() ? "" : ", ",
                         type == DType::kUnknown ? "not recorded" : Name(type));
  }
  return classes.empty() ? ""
                         : fmt::format(
                               "the share of peak leaves out operations for whose type ({}) "
                               "no rate of a device is known: {}",
                               types, classes);
}

std::vector<ShareRow> ShareTable::Take() {
  std::vector<ShareRow> out;
  for (auto& [op_class, row] : rows_) {
    out.push_back(std::move(row));
  }
  std::ranges::stable_sort(out, [](const auto& x, const auto& y) { return x.a.ns > y.a.ns; });
  return out;
}

}  // namespace reprise
