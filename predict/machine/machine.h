// A machine that a trace set is simulated on: its devices, nodes and links, in numbers that each
// say where they come from. docs/machine_format.md describes the files.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/enum_names.h"
#include "core/operators.h"

namespace reprise {

// Where a number comes from, the best first.
enum class NumberSource : std::uint8_t {
  kMeasured,   // on such a machine
  kFitted,     // so that predictions meet measurements
  kDatasheet,  // the vendor's: a peak that nothing exceeds
  kDefault,    // of this program: nothing better is known
  kGiven,      // by --set
};
REPRISE_NAMES(NumberSource, "measured", "fitted", "datasheet", "default", "given");

struct SourcedNumber {
  double value = 0;  // in the base unit of its dimension (predict/machine/units.h)
  std::string unit;  // as the file has it, for display and for --set
  NumberSource source = NumberSource::kDefault;
  std::string reference;  // a document, a measurement and its conditions; of a default: the reason
};
using OptionalNumber = std::optional<SourcedNumber>;

enum class DeviceKind : std::uint8_t {
  kGpu,  // kernels are launched into streams
  kCpu,  // operations run on the host's threads
};
REPRISE_NAMES(DeviceKind, "gpu", "cpu");

// Formats that devices have rates for. Tensor-core formats and DType differ: float32 products may
// run as tf32, and both float8 formats at one rate.
enum class RateFormat : std::uint8_t {
  kFloat64,
  kFloat32,
  kTf32,
  kFloat16,
  kBFloat16,
  kFloat8,
  kInt8,
  kFloat4,
};
REPRISE_NAMES(RateFormat, "float64", "float32", "tf32", "float16", "bfloat16", "float8", "int8",
              "float4");
inline constexpr std::size_t kRateFormats = kNamesOf<RateFormat>.size();

// What operations of a class reach: parts of the peak rate and of the memory's bandwidth. More than
// 1 where caches serve what counts as memory, or tf32 units what counts as float32.
struct ReachedParts {
  OptionalNumber rate, memory;
};

// How the rate of products and attention falls with their sizes (predict/simulator/operator_times.h
// has the formula). Absent: it does not.
struct ShapeParts {
  OptionalNumber half_m, half_n, half_k;  // of such a size, an operation reaches half of the rate
  OptionalNumber waves;                   // part of a product that takes whole waves of tiles
  OptionalNumber backward;                // rate of attention's backward over its forward's
  // Rate of products with rows that are no multiple of 16 bytes, over that of others.
  OptionalNumber unaligned;

  [[nodiscard]] bool empty() const {
    return !half_m && !half_n && !half_k && !waves && !backward && !unaligned;
  }
};

// Of one class of operations, and where it matters of single types. What is absent here is as for
// the device: its efficiencies, and no time to start.
struct ClassEfficiency {
  OpClass op_class = OpClass::kOther;
  ReachedParts parts;
  ShapeParts shape;
  // Added to the roofline's time: an operation whose work takes as long reaches half of the parts.
  OptionalNumber start_ns;
  struct OfType {
    DType dtype = DType::kUnknown;
    ReachedParts parts;
    ShapeParts shape;         // empty: the class's
    OptionalNumber start_ns;  // absent: the class's
  };
  std::vector<OfType> types;
};

// Of layers of experts whose products run grouped, by type (predict/simulator/expert_times.h has
// the formula).
struct ExpertNumbers {
  DType dtype = DType::kUnknown;
  SourcedNumber rate, half_m, memory;  // of the products, as of a class
  SourcedNumber moving;                // part of the memory's bandwidth, of what moves tokens
  SourcedNumber start_ns;
};

// What a device takes and how warm it gets (predict/simulator/power/power.h and thermal.h have the
// formulas). All or nothing of a part: HasPower, HasClockCurve, HasThermal.
struct PowerModel {
  OptionalNumber limit_watts, idle_watts;
  OptionalNumber limit_window_ns;  // the limit holds for means over it; absent: at every moment
  // Of the core at the highest clock, of one operation by the units that compute in that format.
  std::array<OptionalNumber, kRateFormats> matrix_joules_per_flop, vector_joules_per_flop;
  OptionalNumber memory_joules_per_byte;
  // The voltage falls linearly from the highest clock to the ridge, and is `low_voltage` of the
  // highest one below it.
  OptionalNumber clock_max_hertz, clock_min_hertz, clock_ridge_hertz, clock_step_hertz;
  OptionalNumber low_voltage;
};

struct ThermalModel {
  OptionalNumber kelvin_per_watt;  // from the device to the air that reaches it
  OptionalNumber joules_per_kelvin;
  OptionalNumber inlet_celsius;     // of the air that enters the node
  OptionalNumber throttle_celsius;  // what the device stays below, by its clock
  // Of a node: the air passes this many rows of devices; so many with consecutive numbers are in
  // one row, then as many in the next. Every watt of a device warms the air of the one behind it.
  OptionalNumber rows, row_devices, preheat_kelvin_per_watt;
};

// What one rank computes on. Of a package with two dies that are devices of their own: one die.
struct DeviceModel {
  std::string name;
  DeviceKind kind = DeviceKind::kGpu;
  // How captures and drivers spell it; a capture is of this device where one occurs in its name.
  std::vector<std::string> recorded_as;
  SourcedNumber memory_bytes;
  SourcedNumber memory_bytes_per_second;
  // Dense, not sparse. Absent: the device has no such units.
  std::array<OptionalNumber, kRateFormats> matrix_flops_per_second;
  std::array<OptionalNumber, kRateFormats> vector_flops_per_second;
  OptionalNumber multiprocessors;
  // Of the peak, what large operations reach. `memory`: of the memory's bandwidth, by operations
  // that it bounds.
  SourcedNumber gemm_efficiency, attention_efficiency, conv_efficiency, memory_efficiency;
  std::vector<ClassEfficiency> classes;  // each class at most once; empty: nothing is fitted
  std::vector<ExpertNumbers> experts;    // each type at most once
  // From the call that launches to the start on an idle stream; the least time from one kernel's
  // start to the next one's on a busy stream. 0 where nothing is launched.
  SourcedNumber launch_latency_ns, kernel_least_ns;
  // While a transfer of the device moves, what is left to its kernels: part of the FLOP rates, and
  // of the memory's bandwidth. 1: transfers slow nothing.
  SourcedNumber beside_compute, beside_memory;
  PowerModel power;
  ThermalModel thermal;
};

struct HostModel {
  SourcedNumber launch_ns;  // time of the host thread for one launch
};

struct NodeShape {
  SourcedNumber devices;  // of one node
  OptionalNumber nodes;   // of the machine; absent: as many as are needed
  // What one node takes besides its devices, at any load: processors, fans, adapters, switches,
  // losses of its supplies. Absent: not known.
  OptionalNumber rest_watts;
};

enum class BandwidthPer : std::uint8_t {
  kDevice,  // every device has so much of its own
  kNode,    // the devices of a node share it
};
REPRISE_NAMES(BandwidthPer, "device", "node");

// One level of the network. Levels are nested: each joins the domains of the level below it, and
// the innermost joins devices. Devices are numbered by position: a domain's are consecutive.
struct LinkLevel {
  std::string name;
  OptionalNumber devices;  // of one domain of this level; absent: all that there are
  // Devices that a job of several domains gets of each; absent: all. With 64 of 72, groups of 8, 16
  // or 32 ranks stay inside a domain.
  OptionalNumber job_devices;
  BandwidthPer per = BandwidthPer::kDevice;
  bool both_ways = false;  // how the file counts; `bytes_per_second` is one way always
  // Into the level, of one device or node. Exactly one of the two is there.
  OptionalNumber bytes_per_second;
  // Bandwidth of a domain of the level below into its members, divided by its bandwidth out of it.
  OptionalNumber oversubscription;
  SourcedNumber latency_ns;  // of one message, with the protocol that reaches the bandwidth
  // With the protocol for short messages (NCCL's LL), which reaches a part of the bandwidth;
  // absent: there is none.
  OptionalNumber short_latency_ns;
  SourcedNumber efficiency;  // what large messages reach of the bandwidth
  // Where switches add (NVLink SHARP): part of the bandwidth at which a member's bytes go in and
  // the sums come out, and what that takes besides. Both or neither.
  OptionalNumber in_switch, in_switch_latency_ns;
  OptionalNumber joules_per_byte;  // that leaves a device by the link; of the device alone

  // Devices of one domain; 0: all.
  [[nodiscard]] std::int64_t spans() const {
    return devices ? static_cast<std::int64_t>(devices->value) : 0;
  }
};

// How well the numbers of a class meet the table of measurements that they were fitted to: medians
// of |predicted / measured - 1| over rows.
struct FitErrors {
  std::string of_class;            // "gemm", "collective", … (docs/kernel_tables.md)
  std::string type;                // "bfloat16"; "all" where types do not differ
  std::int64_t rows = 0;           // that were fitted
  double fitted = 0;               // of these rows
  std::optional<double> error;     // of values left out of the fit; nothing: too few values
  std::optional<double> constant;  // null model: one constant for all, likewise left out
  std::string table;               // where the rows are from
  bool operator==(const FitErrors&) const = default;
};

// What the fitted numbers of a machine were fitted to.
struct Calibration {
  std::string on;         // captures or tables, in words
  OptionalNumber points;  // that were fitted
  OptionalNumber error;   // mean of |predicted / measured - 1| of what was left out of the fit
};

// "a.json.gz, b.json.gz, 45 points, error 17.9 % when left out".
[[nodiscard]] std::string Described(const Calibration& calibration);

struct CollectiveModel {
  SourcedNumber start_ns;         // of any collective, besides its messages
  OptionalNumber short_start_ns;  // with the protocol for short messages; absent: the same
  // Of exchanges (all_to_all, gather, scatter, send, recv), which are other kernels; absent: as
  // all.
  OptionalNumber exchange_start_ns, exchange_short_part;
  // Of a member's own share, which crosses no link: its time over that of a share that crosses the
  // innermost one. Absent: it takes none.
  OptionalNumber own_share;
  SourcedNumber chunk_bytes;  // that trees are cut into
  SourcedNumber short_part;   // of the bandwidth, what the protocol for short messages reaches
};

// A value; immutable once read. All numbers are present and checked, or optional and absent.
struct MachineModel {
  std::string name;
  std::string about;
  std::string file;  // where it was read; "predict/machine/data/a100-hgx.json (built in)"
  DeviceModel device;
  HostModel host;
  NodeShape node;
  std::vector<LinkLevel> links;  // innermost first
  CollectiveModel collectives;
  std::optional<Calibration> calibration;
  std::vector<FitErrors> fits;  // by class and type; empty: nothing was fitted to tables

  // The position of a link in `links`; nothing if no link has the name.
  [[nodiscard]] std::optional<std::size_t> FindLink(std::string_view link) const;
  // How many devices there are; 0: no limit. A machine whose outermost link spans a number of
  // devices has no more than these.
  [[nodiscard]] std::int64_t DeviceLimit() const;
  // One way, out of one domain of the level below `level` into it, with all its devices sending;
  // before efficiency. Level 0: of one device.
  [[nodiscard]] double DomainBandwidth(std::size_t level) const;
  // Devices in a domain of the level below `level`: 1 for level 0.
  [[nodiscard]] std::int64_t DomainDevices(std::size_t level) const;
};

// Of a class and type; nullptr where the file has none.
[[nodiscard]] const ClassEfficiency* FindClass(const DeviceModel& device, OpClass op_class);
[[nodiscard]] const ClassEfficiency::OfType* FindType(const ClassEfficiency& of_class, DType dtype);
[[nodiscard]] const ExpertNumbers* FindExperts(const DeviceModel& device, DType dtype);
// Products: what matrix units compute.
[[nodiscard]] bool IsProduct(OpClass op_class);
// What products of the class reach; nullptr of other classes, which compute element by element.
[[nodiscard]] const SourcedNumber* MatrixEfficiency(const DeviceModel& device, OpClass op_class);

// Whether a device's power, its clock under a limit, and its temperature can be modelled.
[[nodiscard]] bool HasPower(const DeviceModel& device);
[[nodiscard]] bool HasClockCurve(const DeviceModel& device);
[[nodiscard]] bool HasThermal(const DeviceModel& device);
// 0: the limit holds at every moment.
[[nodiscard]] std::int64_t LimitWindowNs(const PowerModel& power);

// The dense peak for products (`matrix`) or for other arithmetic on elements of a type, by the
// fastest units that compute it: float32 products run on tf32 units only where `tf32` is true.
// Nothing: the device has no rate for it.
[[nodiscard]] const SourcedNumber* PeakRate(const DeviceModel& device, DType dtype, bool matrix,
                                            bool tf32);

}  // namespace reprise
