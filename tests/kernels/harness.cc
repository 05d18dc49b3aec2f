#include "tests/kernels/harness.h"

#include <fmt/format.h>

#include <cmath>

#include "kernels/backend.h"
#include "kernels/call_lowering.h"
#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// A small generator of our own: the same data on every platform.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  std::uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  double Uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(Next() >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

void FillStorage(CallMemory::Storage& storage, std::int64_t incarnation, std::int64_t bound) {
  Numbers numbers(static_cast<std::uint64_t>(incarnation) + 17);
  const auto count = static_cast<std::int64_t>(storage.bytes.size()) / SizeOf(storage.dtype);
  for (std::int64_t i = 0; i < count; ++i) {
    if (bound > 0) {
      StoreInt(storage.bytes.data(), storage.dtype, i,
               static_cast<std::int64_t>(numbers.Next() % static_cast<std::uint64_t>(bound)));
    } else if (storage.dtype == DType::kBool) {
      StoreInt(storage.bytes.data(), storage.dtype, i,
               static_cast<std::int64_t>(numbers.Next() & 1));
    } else if (IsIntegral(storage.dtype)) {
      const std::int64_t value = static_cast<std::int64_t>(numbers.Next() % 21) - 10;
      StoreInt(storage.bytes.data(), storage.dtype, i,
               storage.dtype == DType::kUInt8 ? value + 10 : value);
    } else {
      StoreDouble(storage.bytes.data(), storage.dtype, i, numbers.Uniform(-2, 2));
    }
  }
}

class DeviceMemory : public Bindings {
 public:
  [[nodiscard]] Buffer* Find(std::int64_t incarnation) const override {
    const auto it = buffers.find(incarnation);
    return it == buffers.end() ? nullptr : it->second.get();
  }
  std::map<std::int64_t, std::unique_ptr<Buffer>> buffers;
};

// Rounding a result to a narrow type may differ by one unit, whatever the kernel promises.
Kernel::Tolerance For(DType dtype, Kernel::Tolerance tolerance) {
  if (dtype == DType::kFloat16) {
    tolerance.relative = std::max(tolerance.relative, 2e-3);
  } else if (dtype == DType::kBFloat16) {
    tolerance.relative = std::max(tolerance.relative, 1.6e-2);
  }
  return tolerance;
}

bool Close(double a, double b, const Kernel::Tolerance& tolerance) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::isnan(a) && std::isnan(b);
  }
  return a == b || std::fabs(a - b) <= tolerance.absolute + tolerance.relative * std::fabs(b);
}

std::string Describe(const Value& value) {
  if (const TensorDesc* tensor = value.AsTensor()) {
    return fmt::format("{}#{}[{}]/({})+{}", Name(tensor->dtype), tensor->incarnation,
                       fmt::join(tensor->shape, ","), fmt::join(tensor->strides, ","),
                       tensor->offset);
  }
  if (const ValueList* list = value.AsList()) {
    std::string text;
    for (const Value& item : *list) {
      text += (text.empty() ? "" : ", ") + Describe(item);
    }
    return "[" + text + "]";
  }
  if (const std::string* text = value.AsString()) {
    return "'" + *text + "'";
  }
  return value.IsNone() ? "None" : fmt::format("{}", value.AsNumber<double>(0));
}

}  // namespace

CallMemory::CallMemory(const OpCall& call) {
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* tensor : TensorsIn(*values)) {
      Storage& storage = storages[tensor->incarnation];
      if (storage.dtype == DType::kUnknown) {
        storage.dtype = tensor->dtype;
      }
      const auto end = static_cast<std::size_t>((tensor->offset + ExtentElements(*tensor)) *
                                                SizeOf(tensor->dtype));
      storage.bytes.resize(std::max(storage.bytes.size(), end));
    }
  }
  const auto bounds = IndexBounds(call);
  for (auto& [incarnation, storage] : storages) {
    const auto bound = bounds.find(incarnation);
    FillStorage(storage, incarnation, bound == bounds.end() ? 0 : bound->second);
  }
}

std::span<std::byte> CallMemory::Find(std::int64_t incarnation) const {
  const auto it = storages.find(incarnation);
  return it == storages.end() ? std::span<std::byte>() : std::span(it->second.bytes);
}

Status CallRunner::Run(const Kernel& kernel, const OpCall& call, CallMemory& memory) {
  REPRISE_ASSIGN(const auto stream, device_.CreateStream(false));
  DeviceMemory buffers;
  for (const auto& [incarnation, storage] : memory.storages) {
    const auto bytes = static_cast<std::int64_t>(storage.bytes.size());
    REPRISE_ASSIGN(buffers.buffers[incarnation], device_.Allocate(bytes));
    REPRISE_TRY(stream->Upload(*buffers.buffers[incarnation], 0, storage.bytes.data(), bytes));
  }
  std::vector<std::unique_ptr<Buffer>> scratch;
  std::map<int, Buffer*> slots;
  const LowerContext context{
      buffers, device_.info(), [&](int slot, std::int64_t bytes) -> Result<Buffer*> {
        if (slots[slot] == nullptr || slots[slot]->size_bytes() < bytes) {
          REPRISE_ASSIGN(std::unique_ptr<Buffer> buffer, device_.Allocate(bytes));
          REPRISE_ASSIGN(const auto poison,
                         device_.Prepare(DeviceFill{buffer.get(), 0, bytes, {std::byte{0x7f}}}));
          REPRISE_TRY(stream->Enqueue(*poison));
          slots[slot] = buffer.get();
          scratch.push_back(std::move(buffer));
        }
        return slots[slot];
      }};
  REPRISE_ASSIGN(const std::vector<Launch> launches,
                 device_.lowering().Lower(kernel, call, context));
  std::vector<std::unique_ptr<PreparedLaunch>> prepared;
  for (const Launch& launch : launches) {
    REPRISE_ASSIGN(auto ready, device_.Prepare(launch));
    REPRISE_TRY(stream->Enqueue(*ready));
    prepared.push_back(std::move(ready));
  }
  for (auto& [incarnation, storage] : memory.storages) {
    REPRISE_TRY(stream->Download(storage.bytes.data(), *buffers.buffers[incarnation], 0,
                                 static_cast<std::int64_t>(storage.bytes.size())));
  }
  return stream->Finish();
}

std::string Difference(const CallMemory& actual, const CallMemory& expected,
                       const Kernel::Tolerance& tolerance) {
  for (const auto& [incarnation, storage] : expected.storages) {
    const DType dtype = storage.dtype;
    const std::byte* got = actual.Find(incarnation).data();
    const std::byte* want = storage.bytes.data();
    const auto count = static_cast<std::int64_t>(storage.bytes.size()) / SizeOf(dtype);
    for (std::int64_t i = 0; i < count; ++i) {
      const bool close =
          IsIntegral(dtype)
              ? LoadInt(got, dtype, i) == LoadInt(want, dtype, i)
              : Close(LoadDouble(got, dtype, i), LoadDouble(want, dtype, i), For(dtype, tolerance));
      if (!close) {
        return fmt::format("storage {} ({}) element {} of {}: {} instead of {}", incarnation,
                           Name(dtype), i, count, LoadDouble(got, dtype, i),
                           LoadDouble(want, dtype, i));
      }
    }
  }
  return "";
}

std::string Mismatch(CallRunner& runner, const Kernel& kernel, const OpCall& call) {
  CallMemory expected(call);
  if (const Status reference = kernel.Reference(call, expected); !reference) {
    return "the reference: " + reference.error().message;
  }
  CallMemory actual(call);
  if (const Status run = runner.Run(kernel, call, actual); !run) {
    return run.error().message;
  }
  return Difference(actual, expected, kernel.tolerance());
}

std::string Describe(const OpCall& call) {
  std::string text = call.name + "(";
  for (const Value& input : call.inputs) {
    text += (text.back() == '(' ? "" : ", ") + Describe(input);
  }
  text += ") ->";
  for (const Value& output : call.outputs) {
    text += " " + Describe(output);
  }
  return text;
}

std::string WhyNoPrograms(Device& device) {
  const auto buffer = device.Allocate(64);
  if (!buffer) {
    return buffer.error().message;
  }
  const auto launch =
      device.Prepare(device.lowering().Surrogate({16, 1, 1}, buffer->get(), device.info()));
  return launch ? "" : launch.error().message;
}

Device* TestDevice(const std::string& backend, std::string* why) {
  // Never closed: at exit a driver's own static objects may be gone already (Oclgrind's are).
  static auto& devices = *new std::map<std::string, Result<std::unique_ptr<Device>>>;
  auto it = devices.find(backend);
  if (it == devices.end()) {
    it = devices
             .emplace(backend,
                      OpenDevice({.backend = backend,
                                  .index = 0,
                                  .cache_directory = REPRISE_BINARY_DIR "/test_program_cache"}))
             .first;
  }
  *why = it->second ? WhyNoPrograms(**it->second) : it->second.error().message;
  return why->empty() ? it->second->get() : nullptr;
}

}  // namespace reprise
