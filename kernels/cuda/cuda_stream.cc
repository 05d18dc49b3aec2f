#include "kernels/cuda/cuda_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace reprise {
namespace {

// Pairs of events that a profiling stream keeps before it reads the oldest.
constexpr std::size_t kLivePairs = 8192;

thread_local CudaStream* g_current = nullptr;

std::size_t ByteCount(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

struct BytesOfArgument {
  StructBytes operator()(const StructBytes& bytes) const { return bytes; }
  StructBytes operator()(Buffer* /*buffer*/) const { return StructBytes(sizeof(CudaAddress)); }
  template <typename Number>
  StructBytes operator()(const Number& number) const {
    StructBytes bytes(sizeof(number));
    std::memcpy(bytes.data(), &number, sizeof(number));
    return bytes;
  }
};

}  // namespace

void CudaKernel::Add(const DeviceKernel::Arg& arg) {
  Buffer* const* buffer = std::get_if<Buffer*>(&arg);
  if (buffer != nullptr && *buffer != nullptr) {
    buffers.emplace_back(values.size(), *buffer);
  }
  addresses.push_back(values.emplace_back(std::visit(BytesOfArgument(), arg)).data());
}

bool CudaEvent::IsDone() const { return context_->Use().query_event(event_) != kCudaNotReady; }

Status CudaEvent::Wait() const {
  return context_->Check(context_->Use().finish_event(event_), "a command");
}

CudaStream* CudaStream::Current() { return g_current; }

Result<std::unique_ptr<Stream>> CudaStream::Create(std::shared_ptr<CudaContext> context,
                                                   CudaClock& clock, bool profiling) {
  CudaHandle stream = nullptr;
  REPRISE_TRY(
      context->Check(context->Use().create_stream(&stream, kCudaOwnQueue), "creating a stream"));
  return std::unique_ptr<Stream>(new CudaStream(std::move(context), clock, profiling, stream));
}

CudaStream::~CudaStream() {
  const CudaDriver& cuda = context_->Use();
  // Commands may still use what the caller frees next.
  (void)cuda.finish_stream(stream_);
  for (const TimedEvents& events : live_) {
    context_->GiveBack(events.start, true);
    context_->GiveBack(events.end, true);
  }
  (void)cuda.destroy_stream(stream_);
}

Result<CudaAddress> CudaStream::AddressOf(const Buffer* buffer, std::int64_t offset_bytes) {
  const auto* memory = dynamic_cast<const CudaBuffer*>(buffer);
  if (memory == nullptr) {
    return UsageError("a buffer of another backend, or none, was given to CUDA");
  }
  memory->UsedOn(stream_);
  REPRISE_ASSIGN(std::byte* const data, memory->Data());
  return reinterpret_cast<CudaAddress>(data) + static_cast<CudaAddress>(offset_bytes);
}

Result<CudaHandle> CudaStream::Mark() {
  REPRISE_ASSIGN(const CudaHandle event, context_->TakeEvent(true));
  const int code = context_->Use().record_event(event, stream_);
  if (code != 0) {
    context_->GiveBack(event, true);
  }
  REPRISE_TRY(context_->Check(code, "recording a time"));
  return event;
}

Status CudaStream::Enqueue(const PreparedLaunch& launch) {
  const auto* prepared = dynamic_cast<const CudaLaunch*>(&launch);
  if (prepared == nullptr) {
    return UsageError("a launch prepared by another backend was enqueued on CUDA");
  }
  const auto* task = std::get_if<HostTask>(&prepared->command);
  if (task != nullptr && task->before) {
    task->before();
  }
  TimedEvents events;
  if (profiling_) {
    REPRISE_ASSIGN(events.start, Mark());
  }
  Status issued = prepared->is_empty ? Status() : Issue(*prepared);
  if (profiling_) {
    REPRISE_ASSIGN(events.end, Mark());
    live_.push_back(events);
    REPRISE_TRY(Harvest(kLivePairs));
  }
  if (task != nullptr && task->after) {
    task->after();
  }
  return issued;
}

Status CudaStream::EnqueueInTask(const PreparedLaunch& launch) {
  const auto& prepared = dynamic_cast<const CudaLaunch&>(launch);
  return prepared.is_empty ? Status() : Issue(prepared);
}

Status CudaStream::Issue(const CudaLaunch& launch) {
  if (const auto* kernel = std::get_if<CudaKernel>(&launch.command)) {
    return IssueKernel(*kernel);
  }
  if (const auto* copy = std::get_if<DeviceCopy>(&launch.command)) {
    return IssueCopy(*copy);
  }
  if (const auto* fill = std::get_if<DeviceFill>(&launch.command)) {
    return IssueFill(*fill);
  }
  return IssueTask(std::get<HostTask>(launch.command));
}

Status CudaStream::IssueKernel(const CudaKernel& kernel) {
  for (const auto& [place, buffer] : kernel.buffers) {
    REPRISE_ASSIGN(const CudaAddress address, AddressOf(buffer));
    std::memcpy(kernel.values[place].data(), &address, sizeof(address));
  }
  return context_->Check(
      context_->Use().launch(kernel.function, kernel.grid[0], kernel.grid[1], kernel.grid[2],
                             kernel.block[0], kernel.block[1], kernel.block[2], 0, stream_,
                             const_cast<void**>(kernel.addresses.data()), nullptr),
      "enqueueing a kernel");
}

Status CudaStream::IssueCopy(const DeviceCopy& copy) {
  REPRISE_ASSIGN(const CudaAddress to, AddressOf(copy.dst, copy.dst_offset_bytes));
  REPRISE_ASSIGN(const CudaAddress from, AddressOf(copy.src, copy.src_offset_bytes));
  return context_->Check(context_->Use().copy(to, from, ByteCount(copy.bytes), stream_),
                         "enqueueing a copy");
}

Status CudaStream::IssueFill(const DeviceFill& fill) {
  REPRISE_ASSIGN(const CudaAddress to, AddressOf(fill.dst, fill.offset_bytes));
  const CudaDriver& cuda = context_->Use();
  const std::size_t size = fill.pattern.size();
  const std::size_t bytes = ByteCount(fill.bytes);
  const auto pattern = [&](auto value) {
    std::memcpy(&value, fill.pattern.data(), sizeof(value));
    return value;
  };
  constexpr std::string_view kWhat = "enqueueing a fill";
  if (size == 1) {
    return context_->Check(cuda.fill8(to, pattern(static_cast<unsigned char>(0)), bytes, stream_),
                           kWhat);
  }
  if (size == 2) {
    return context_->Check(
        cuda.fill16(to, pattern(static_cast<unsigned short>(0)), bytes / size, stream_), kWhat);
  }
  if (size == 4) {
    return context_->Check(cuda.fill32(to, pattern(0U), bytes / size, stream_), kWhat);
  }
  // By words of 4 bytes, then what is there is copied behind itself.
  for (std::size_t word = 0; word < size; word += sizeof(unsigned int)) {
    unsigned int value = 0;
    std::memcpy(&value, fill.pattern.data() + word, sizeof(value));
    REPRISE_TRY(context_->Check(cuda.fill32(to + word, value, 1, stream_), kWhat));
  }
  for (std::size_t done = size; done < bytes;) {
    const std::size_t more = std::min(done, bytes - done);
    REPRISE_TRY(context_->Check(cuda.copy(to + done, to, more, stream_), kWhat));
    done += more;
  }
  return {};
}

Status CudaStream::IssueTask(const HostTask& task) {
  CudaStream* const before = std::exchange(g_current, this);
  (void)context_->Use();
  Status done = task.run();
  g_current = before;
  return done;
}

Status CudaStream::WaitFor(std::span<const EventPtr> events) {
  for (const EventPtr& event : events) {
    const auto* cuda = dynamic_cast<const CudaEvent*>(event.get());
    if (cuda == nullptr) {
      return UsageError("a CUDA stream was told to wait for another backend's event");
    }
    if (cuda->stream() == stream_) {
      continue;  // in order anyway
    }
    REPRISE_TRY(context_->Check(context_->Use().wait_event(stream_, cuda->event(), 0),
                                "waiting for an event of another stream"));
  }
  return {};
}

Result<EventPtr> CudaStream::Record() {
  REPRISE_ASSIGN(const CudaHandle event, context_->TakeEvent(false));
  auto recorded = std::make_shared<CudaEvent>(context_, event, stream_);
  REPRISE_TRY(context_->Check(context_->Use().record_event(event, stream_), "recording an event"));
  return recorded;
}

Status CudaStream::Upload(Buffer& dst, std::int64_t offset_bytes, const void* src,
                          std::int64_t bytes) {
  if (!dst.Holds(offset_bytes, bytes)) {
    return UsageError("upload beyond the end of the buffer");
  }
  REPRISE_ASSIGN(const CudaAddress to, AddressOf(&dst, offset_bytes));
  return bytes == 0 ? Status()
                    : context_->Check(context_->Use().upload(to, src, ByteCount(bytes), stream_),
                                      "an upload");
}

Status CudaStream::Download(void* dst, const Buffer& src, std::int64_t offset_bytes,
                            std::int64_t bytes) {
  if (!src.Holds(offset_bytes, bytes)) {
    return UsageError("download beyond the end of the buffer");
  }
  REPRISE_ASSIGN(const CudaAddress from, AddressOf(&src, offset_bytes));
  return bytes == 0
             ? Status()
             : context_->Check(context_->Use().download(dst, from, ByteCount(bytes), stream_),
                               "a download");
}

Status CudaStream::Finish() {
  return context_->Check(context_->Use().finish_stream(stream_), "finishing a stream");
}

Status CudaStream::Harvest(std::size_t keep) {
  while (live_.size() > keep) {
    const TimedEvents& oldest = live_.front();
    REPRISE_TRY(context_->Check(context_->Use().finish_event(oldest.end), "a command"));
    REPRISE_ASSIGN(const std::int64_t start_ns, clock_.HostNs(oldest.start));
    REPRISE_ASSIGN(const std::int64_t end_ns, clock_.HostNs(oldest.end));
    times_.push_back({start_ns, end_ns});
    context_->GiveBack(oldest.start, true);
    context_->GiveBack(oldest.end, true);
    live_.pop_front();
  }
  return {};
}

Result<std::vector<Stream::Times>> CudaStream::TakeTimes() {
  REPRISE_TRY(Harvest(0));
  return std::exchange(times_, {});
}

}  // namespace reprise
