#include "converters/pytorch/kineto/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace reprise::pytorch {

EventText::EventText(std::string path) : TextSource(std::move(path)) {
  events_.base_ns = 0;
  events_.text = "{\"schemaVersion\":1,\"traceEvents\":[";
}

Result<std::size_t> EventText::Read(char* to, std::size_t most) {
  while (used_ == events_.text.size() && !done_) {
    events_.text.clear();
    used_ = 0;
    REPRISE_TRY(Produce());
  }
  const std::size_t size = std::min(most, events_.text.size() - used_);
  std::memcpy(to, events_.text.data() + used_, size);
  used_ += size;
  return size;
}

Status EventText::Produce() {
  constexpr std::size_t kBlock = 1 << 16;
  while (events_.text.size() < kBlock) {
    REPRISE_ASSIGN(const bool more, Append());
    if (!more) {
      REPRISE_TRY(AppendEnd());
      events_.text += '}';
      done_ = true;
      return {};
    }
  }
  return {};
}

void EventText::AppendHost(std::string_view host) {
  events_.text += ",\"host_name\":";
  AppendQuoted(host, events_.text);
}

void EventText::AppendRank(std::int64_t rank, std::int64_t world_size) {
  if (rank >= 0) {
    fmt::format_to(std::back_inserter(events_.text),
                   R"(,"distributedInfo":{{"backend":"nccl","rank":{},"world_size":{}}})", rank,
                   world_size);
  }
}

tl::unexpected<Error> SeveralProcesses(const std::string& path, std::size_t processes) {
  return BadInput(fmt::format(
      "{}: holds the work of {} processes, each a rank; convert the file alone, which gives a set "
      "of them",
      path, processes));
}

}  // namespace reprise::pytorch
