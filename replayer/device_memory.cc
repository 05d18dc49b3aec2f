#include "replayer/device_memory.h"

#include <fmt/format.h>

#include <cstring>

namespace reprise {
namespace {

// splitmix64 (Steele, Lea, Flood 2014): a well-mixed function of a counter.
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// In (0, 0.05): small enough that chains of products stay finite, never zero or negative.
float SmallPositive(std::uint64_t bits) {
  return 0.001F + 0.049F * static_cast<float>(bits >> 40) / static_cast<float>(1 << 24);
}
bool IsNegative(std::uint64_t bits) { return (bits & (1U << 16)) != 0; }

template <typename T, typename F>
void FillAs(std::vector<std::byte>& bytes, std::uint64_t seed, F value_of) {
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    const T value = static_cast<T>(value_of(Mix(seed + i)));
    std::memcpy(bytes.data() + i, &value, sizeof(T));
  }
}

std::vector<std::byte> InitialBytes(const StorageLife& life) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(life.bytes));
  const std::uint64_t seed = Mix(static_cast<std::uint64_t>(life.incarnation));
  // Without a known bound 0 and 1 are valid for everything that has at least two entries.
  const std::uint64_t bound =
      life.index_bound > 0 ? static_cast<std::uint64_t>(life.index_bound) : 2;
  // A single element is mostly a Python number that was wrapped. Something divides by integers;
  // what is multiplied by a small number in each iteration (a momentum, by its decay) would soon be
  // denormal, which takes processors many times as long.
  const bool single = life.bytes == SizeOf(life.dtype);
  // Weights scatter about zero, and so do the sums that they make: what branches on signs or on the
  // largest (max pooling) takes a fifth longer where all are positive. Nothing else may be
  // negative: optimizers take roots.
  const bool negates = life.multiplied && !single;
  const auto value = [&](std::uint64_t bits) {
    const float small = single ? 1.0F : SmallPositive(bits);
    return negates && IsNegative(bits) ? -small : small;
  };
  const auto index = [&](std::uint64_t bits) {
    if (!single) {
      return static_cast<std::int64_t>(bits % bound);
    }
    return life.index_bound > 0 ? std::min(life.number, life.index_bound - 1) : life.number;
  };
  switch (life.dtype) {
    case DType::kFloat32:
      FillAs<float>(bytes, seed, value);
      break;
    case DType::kFloat64:
      FillAs<double>(bytes, seed, value);
      break;
    case DType::kBFloat16:
      FillAs<std::uint16_t>(bytes, seed, [&](std::uint64_t bits) {
        const float narrow = value(bits);
        std::uint32_t raw = 0;
        std::memcpy(&raw, &narrow, sizeof(raw));
        return raw >> 16;  // truncation is fine for arbitrary data
      });
      break;
    case DType::kFloat16:
      // 0x2800 is 2^-5 ≈ 0.031; the random mantissa keeps it below 2^-4.
      FillAs<std::uint16_t>(bytes, seed, [&](std::uint64_t bits) {
        const std::uint32_t sign = negates && IsNegative(bits) ? 0x8000U : 0;
        return single ? 0x3c00U : sign | 0x2800U | (bits & 0x3ffU);  // 0x3c00 is 1
      });
      break;
    case DType::kInt64:
      FillAs<std::int64_t>(bytes, seed, index);
      break;
    case DType::kInt32:
      FillAs<std::int32_t>(bytes, seed, index);
      break;
    case DType::kInt16:
      FillAs<std::int16_t>(bytes, seed, index);
      break;
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool:
      FillAs<std::uint8_t>(bytes, seed, [](std::uint64_t bits) { return bits & 1; });
      break;
    default:
      break;
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::Create(const MemoryPlan& plan, Device& device) {
  std::unique_ptr<DeviceMemory> memory(new DeviceMemory(device));
  memory->buffer_of_ = plan.buffer_of;
  for (const std::int64_t bytes : plan.buffer_bytes) {
    auto buffer = device.Allocate(bytes);
    if (!buffer) {
      return EnvironmentError(fmt::format(
          "could not allocate {} of {} planned bytes on {}: {}; try --memory share, fewer ranks "
          "per device, or --ops timed",
          memory->allocated_bytes_ + bytes, plan.planned_bytes, device.info().name,
          buffer.error().message));
    }
    memory->allocated_bytes_ += bytes;
    memory->buffers_.push_back(std::move(*buffer));
  }
  if (!plan.shared_across_actors) {
    memory->CreateTenants(plan);
  }
  REPRISE_TRY(memory->Initialise(plan));
  return memory;
}

Status DeviceMemory::Initialise(const MemoryPlan& plan) {
  REPRISE_ASSIGN(auto stream, device_.CreateStream(false));
  for (const StorageLife& life : plan.storages) {
    if (!life.persistent || life.bytes == 0) {
      continue;
    }
    const std::vector<std::byte> bytes = InitialBytes(life);
    REPRISE_TRY(stream->Upload(*Find(life.incarnation), 0, bytes.data(), life.bytes));
    REPRISE_TRY(stream->Finish());
  }
  return stream->Finish();
}

void DeviceMemory::CreateTenants(const MemoryPlan& plan) {
  for (const StorageLife& life : plan.storages) {
    if (auto tenant = buffers_[buffer_of_.at(life.incarnation)]->Tenant(!life.transferred)) {
      tenants_.emplace(life.incarnation, std::move(tenant));
    }
  }
}

Buffer* DeviceMemory::Find(std::int64_t incarnation) const {
  if (const auto tenant = tenants_.find(incarnation); tenant != tenants_.end()) {
    return tenant->second.get();
  }
  const auto it = buffer_of_.find(incarnation);
  return it == buffer_of_.end() ? nullptr : buffers_[it->second].get();
}

Result<Buffer*> DeviceMemory::Scratch(std::uint32_t stream, int slot, std::int64_t bytes) {
  for (const ScratchSlot& have : scratch_) {
    if (have.stream == stream && have.slot == slot && have.buffer->size_bytes() >= bytes) {
      return have.buffer.get();
    }
  }
  REPRISE_ASSIGN(auto buffer, device_.Allocate(bytes));
  allocated_bytes_ += bytes;
  scratch_.push_back({stream, slot, std::move(buffer)});
  return scratch_.back().buffer.get();
}

}  // namespace reprise
