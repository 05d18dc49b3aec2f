// A software stack: what a framework makes of a machine. The same operators take longer where no
// compiler fuses them, attention is another kernel, and memory goes to what no operator names.
// docs/stacks.md describes the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "predict/machine/machine.h"

namespace reprise {

// Of the devices in whose name one of the texts occurs; of kinds of models, if there are any.
struct OfDevices {
  std::vector<std::string> devices, models;
  SourcedNumber number;
};

// A value; immutable once read. What a file lacks is absent, and changes nothing.
struct SoftwareStack {
  std::string name, about;
  std::string file;  // where it was read
  // Rate of the stack's kernels over the machine's.
  std::vector<OfDevices> products, attention;
  // Time of norms, point-wise operators and copies, over that of moving their operands once at what
  // the device reaches of its memory's bandwidth.
  OptionalNumber pointwise_time;
  // Of each process: the driver's context, buffers of the libraries for products and collectives.
  OptionalNumber context_bytes;
  // What the allocator keeps beyond the peak of activations and buffers, over that peak.
  OptionalNumber reserved;
  // Of each parameter on a rank, where gradients are added up in 4 bytes: those of 2 bytes beside.
  OptionalNumber gradient_bytes;
  std::vector<OfDevices> errors;  // mean of |predicted / measured - 1| of published steps
};

inline constexpr char kStackFormat[] = "reprise-stack";
inline constexpr int kStackVersion = 1;

[[nodiscard]] std::vector<std::string> StackNames();
// As LoadMachine.
[[nodiscard]] Result<SoftwareStack> LoadStack(const std::string& name_or_path);
// As ReadMachine.
[[nodiscard]] Result<SoftwareStack> ReadStack(std::string_view text, const std::string& origin);

// nullptr: none of the rows is of the device, and of that kind of models (KindOfModel).
[[nodiscard]] const SourcedNumber* FindOf(const std::vector<OfDevices>& rows,
                                          const DeviceModel& device, std::string_view model = {});

// The device as the stack uses it. A number that was given by --set for a class stays.
void ApplyStack(const SoftwareStack& stack, DeviceModel& device);
// What that changes, in words: "attention at 0.571 of the device's rate"; empty: nothing.
[[nodiscard]] std::string ChangesText(const SoftwareStack& stack, const DeviceModel& device);

}  // namespace reprise
