#include "kernels/bench/bench_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/tensor_access.h"

namespace reprise {
namespace {

// Together more than last-level caches; a large GPU's is 50 MB, a server CPU's rarely more.
constexpr std::int64_t kBeyondCachesBytes = std::int64_t{128} << 20;
// Data is drawn once and then repeated.
constexpr std::int64_t kDrawnElements = std::int64_t{1} << 18;

std::vector<std::byte> Draw(DType dtype, std::int64_t elements, std::int64_t bound) {
  std::vector<std::byte> data(static_cast<std::size_t>(elements * SizeOf(dtype)));
  std::uint64_t state = 0x9e3779b97f4a7c15ULL;  // xorshift: the same data everywhere
  for (std::int64_t i = 0; i < elements; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    if (IsIntegral(dtype)) {
      const std::int64_t limit = bound > 0 ? bound : 2;
      StoreInt(data.data(), dtype, i, static_cast<std::int64_t>((state >> 11) % limit));
    } else {
      const double unit = static_cast<double>(state >> 11) * 0x1p-53;
      StoreDouble(data.data(), dtype, i, 1 / 32.0 + unit * (31 / 32.0 - 0x1p-8));
    }
  }
  return data;
}

}  // namespace

Buffer* BenchMemory::Copy::Find(std::int64_t incarnation) const {
  const auto it = buffers.find(incarnation);
  return it == buffers.end() ? nullptr : it->second.get();
}

std::map<std::int64_t, BenchMemory::Storage> BenchMemory::StoragesOf(const OpCall& call) {
  std::map<std::int64_t, Storage> storages;
  const auto bounds = IndexBounds(call);
  for (const ValueList* values : {&call.inputs, &call.outputs}) {
    for (const TensorDesc* t : TensorsIn(*values)) {
      Storage& storage = storages[t->incarnation];
      const auto bound = bounds.find(t->incarnation);
      storage.dtype = t->dtype;
      storage.bytes = std::max(storage.bytes, (t->offset + ExtentElements(*t)) * SizeOf(t->dtype));
      storage.bound = bound == bounds.end() ? 0 : bound->second;
    }
  }
  return storages;
}

Result<std::unique_ptr<BenchMemory>> BenchMemory::Create(Device& device, const OpCall& call) {
  const std::map<std::int64_t, Storage> storages = StoragesOf(call);
  std::int64_t bytes = 1;
  std::int64_t largest = 0;
  for (const auto& [incarnation, storage] : storages) {
    bytes += storage.bytes;
    largest = std::max(largest, storage.bytes);
  }
  const DeviceInfo& info = device.info();
  // Half of the device's memory: scratch, and on CPUs everything else, needs some too.
  if (bytes > info.memory_bytes / 2 || largest > info.max_allocation_bytes) {
    return UsageError(fmt::format("needs {:.2f} GB of a device with {:.2f} GB",
                                  static_cast<double>(bytes) * 1e-9,
                                  static_cast<double>(info.memory_bytes) * 1e-9));
  }
  std::unique_ptr<BenchMemory> memory(new BenchMemory(device));
  REPRISE_ASSIGN(memory->stream_, device.CreateStream(false));
  REPRISE_TRY(memory->FillFirst(storages));
  const std::int64_t copies = std::clamp<std::int64_t>(
      std::min(kBeyondCachesBytes / bytes + 1, info.memory_bytes / 2 / bytes), 1, kMaxCopies);
  while (memory->copies() < copies) {
    REPRISE_TRY(memory->AddCopyOfFirst());
  }
  return memory;
}

Status BenchMemory::FillFirst(const std::map<std::int64_t, Storage>& storages) {
  Copy copy;
  std::map<std::pair<DType, std::int64_t>, std::vector<std::byte>> drawn;
  for (const auto& [incarnation, storage] : storages) {
    REPRISE_ASSIGN(auto buffer, device_.Allocate(storage.bytes));
    const int size = std::max(1, SizeOf(storage.dtype));
    auto& data = drawn[{storage.dtype, storage.bound}];
    if (static_cast<std::int64_t>(data.size()) < std::min(storage.bytes, kDrawnElements * size)) {
      data = Draw(storage.dtype, kDrawnElements, storage.bound);
    }
    std::int64_t done = std::min(storage.bytes, static_cast<std::int64_t>(data.size()));
    REPRISE_TRY(stream_->Upload(*buffer, 0, data.data(), done));
    REPRISE_TRY(stream_->Finish());
    std::vector<DeviceCopy> repeats;
    while (done < storage.bytes) {  // what is there already is copied behind itself
      const std::int64_t more = std::min(done, storage.bytes - done);
      repeats.push_back({buffer.get(), done, buffer.get(), 0, more});
      done += more;
    }
    REPRISE_TRY(Run(repeats));
    copy.buffers[incarnation] = std::move(buffer);
  }
  copies_.push_back(std::move(copy));
  return {};
}

Status BenchMemory::AddCopyOfFirst() {
  Copy copy;
  std::vector<DeviceCopy> commands;
  for (const auto& [incarnation, first] : copies_.front().buffers) {
    REPRISE_ASSIGN(auto buffer, device_.Allocate(first->size_bytes()));
    commands.push_back({buffer.get(), 0, first.get(), 0, first->size_bytes()});
    copy.buffers[incarnation] = std::move(buffer);
  }
  REPRISE_TRY(Run(commands));
  copies_.push_back(std::move(copy));
  return {};
}

Status BenchMemory::Run(const std::vector<DeviceCopy>& copies) {
  std::vector<std::unique_ptr<PreparedLaunch>> launches;
  for (const DeviceCopy& copy : copies) {
    REPRISE_ASSIGN(auto launch, device_.Prepare(copy));
    REPRISE_TRY(stream_->Enqueue(*launch));
    launches.push_back(std::move(launch));
  }
  return stream_->Finish();
}

Result<Buffer*> BenchMemory::Scratch(int slot, std::int64_t bytes) {
  Buffer*& buffer = slots_[slot];
  if (buffer == nullptr || buffer->size_bytes() < bytes) {
    REPRISE_ASSIGN(auto made, device_.Allocate(bytes));
    buffer = made.get();
    scratch_.push_back(std::move(made));
  }
  return buffer;
}

}  // namespace reprise
