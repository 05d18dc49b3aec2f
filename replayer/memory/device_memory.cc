#include "replayer/memory/device_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/shown_text.h"
#include "replayer/memory/initial_values.h"

namespace reprise {
namespace {

// Of initial values on their way to the device. Captures have hundreds of small storages: a wait
// for each takes longer than its copy.
constexpr std::int64_t kMaxUploadingBytes = std::int64_t{64} << 20;

// Why a buffer of the plan was not granted, which node uses it first, and what may help.
Error CannotAllocate(const MemoryPlan& plan, const Graph& graph, const DeviceInfo& device,
                     std::size_t buffer, std::int64_t before_bytes, const std::string& why) {
  const std::int64_t bytes = plan.buffer_bytes[buffer];
  const auto storage = std::ranges::find_if(plan.storages, [&](const StorageLife& life) {
    return life.bytes == bytes && plan.buffer_of.at(life.incarnation) == buffer;
  });
  const std::string user =
      storage == plan.storages.end()
          ? ""
          : fmt::format(" that node {} ({}) uses first", graph.id(storage->first),
                        ShownText(graph.name(storage->first)));
  const bool one_is_too_large = bytes > device.max_allocation_bytes;
  return {ErrorKind::kEnvironment,
          fmt::format("{} did not grant {} bytes{}, after {:.2f} of {:.2f} GB: {}; {}", device.name,
                      bytes, user, static_cast<double>(before_bytes) * 1e-9,
                      static_cast<double>(plan.planned_bytes) * 1e-9, why,
                      one_is_too_large
                          ? fmt::format("it promises {} to one buffer, and storages are not split: "
                                        "try --ops timed, or another device",
                                        device.max_allocation_bytes)
                          : "try --memory share, fewer ranks per device, or --ops timed")};
}

}  // namespace

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::Create(const MemoryPlan& plan,
                                                           const Graph& graph, Device& device) {
  std::unique_ptr<DeviceMemory> memory(new DeviceMemory(device));
  memory->buffer_of_ = plan.buffer_of;
  for (std::size_t i = 0; i < plan.buffer_bytes.size(); ++i) {
    auto buffer = device.Allocate(plan.buffer_bytes[i]);
    if (!buffer) {
      return tl::unexpected(CannotAllocate(plan, graph, device.info(), i, memory->allocated_bytes_,
                                           buffer.error().message));
    }
    memory->allocated_bytes_ += plan.buffer_bytes[i];
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
  std::vector<std::vector<std::byte>> uploading;  // outlives the stream, which reads it
  std::int64_t uploading_bytes = 0;
  REPRISE_ASSIGN(auto stream, device_.CreateStream(false));
  for (const StorageLife& life : inputs_) {
    if (!chosen(life)) {
      continue;
    }
    const auto& bytes = uploading.emplace_back(InitialBytes(life));
    REPRISE_TRY(stream->Upload(*Find(life.incarnation), 0, bytes.data(), life.bytes));
    uploading_bytes += life.bytes;
    if (uploading_bytes >= kMaxUploadingBytes) {
      REPRISE_TRY(stream->Finish());
      uploading.clear();
      uploading_bytes = 0;
    }
  }
  return stream->Finish();
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
