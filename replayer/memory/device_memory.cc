#include "replayer/memory/device_memory.h"

#include <fmt/format.h>

#include "replayer/memory/initial_values.h"

namespace reprise {
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
    memory->CreateAliases(plan);
  }
  for (const StorageLife& life : plan.storages) {
    if (life.persistent && life.bytes > 0) {
      memory->inputs_.push_back(life);
      memory->changing_bytes_ += life.changes ? life.bytes : 0;
    }
  }
  REPRISE_TRY(memory->FillInputs([](const StorageLife& /*life*/) { return true; }));
  return memory;
}

Status DeviceMemory::Restore(std::int32_t iteration) {
  const std::int64_t period = 1 + changing_bytes_ / kMaxRestoredBytes;
  if (iteration % period != 0) {
    return {};
  }
  return FillInputs([](const StorageLife& life) { return life.changes; });
}

template <typename Choose>
Status DeviceMemory::FillInputs(const Choose& chosen) {
  REPRISE_ASSIGN(auto stream, device_.CreateStream(false));
  for (const StorageLife& life : inputs_) {
    if (chosen(life)) {
      const std::vector<std::byte> bytes = InitialBytes(life);
      REPRISE_TRY(stream->Upload(*Find(life.incarnation), 0, bytes.data(), life.bytes));
      REPRISE_TRY(stream->Finish());
    }
  }
  return {};
}

void DeviceMemory::CreateAliases(const MemoryPlan& plan) {
  for (const StorageLife& life : plan.storages) {
    if (auto alias = buffers_[buffer_of_.at(life.incarnation)]->Alias(!life.transferred)) {
      aliases_.emplace(life.incarnation, std::move(alias));
    }
  }
}

Buffer* DeviceMemory::Find(std::int64_t incarnation) const {
  if (const auto alias = aliases_.find(incarnation); alias != aliases_.end()) {
    return alias->second.get();
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
