// Another profiler's file as the text of a Kineto file, made block by block while it is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "converters/pytorch/kineto/event_list.h"
#include "converters/text_source.h"
#include "core/result.h"

namespace reprise::pytorch {

// A profiler's own class says where events come from, and how the text ends.
class EventText : public TextSource {
 public:
  Result<std::size_t> Read(char* to, std::size_t most) final;

 protected:
  explicit EventText(std::string path);

  // Appends the next events to `events_`; false at their end.
  [[nodiscard]] virtual Result<bool> Append() = 0;
  // Appends what follows the events, behind "]": members of the file, without "}".
  [[nodiscard]] virtual Status AppendEnd() = 0;
  // Members that both profilers' files have. Nothing of a rank below 0.
  void AppendHost(std::string_view host);
  void AppendRank(std::int64_t rank, std::int64_t world_size);

  EventList events_;  // of which `used_` bytes were taken

 private:
  [[nodiscard]] Status Produce();
  std::size_t used_ = 0;
  bool done_ = false;
};

// Bad input: one text is asked of a file with the work of several processes.
[[nodiscard]] tl::unexpected<Error> SeveralProcesses(const std::string& path,
                                                     std::size_t processes);

}  // namespace reprise::pytorch
