#include <fmt/format.h>

#include <iterator>
#include <string>

#include "converters/goal/schedule.h"

namespace reprise::goal {
namespace {

// Of one rank at a time, in pieces: a stream is slow for short texts.
class TextOut {
 public:
  explicit TextOut(std::ostream& out) : out_(out) {}
  ~TextOut() { Flush(); }
  TextOut(const TextOut&) = delete;
  TextOut& operator=(const TextOut&) = delete;

  template <typename... Args>
  void Print(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), text, std::forward<Args>(args)...);
    constexpr std::size_t kPieceBytes = 1 << 16;
    if (buffer_.size() >= kPieceBytes) {
      Flush();
    }
  }

 private:
  void Flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  std::ostream& out_;
  fmt::memory_buffer buffer_;
};

void WriteOperation(std::size_t number, const Operation& operation, TextOut& text) {
  if (operation.kind == OperationKind::kCalc) {
    text.Print("l{}: calc {} cpu {}\n", number, operation.size, operation.cpu);
    return;
  }
  const bool sends = operation.kind == OperationKind::kSend;
  text.Print("l{}: {} {}b {} {} tag {} cpu {}\n", number, sends ? "send" : "recv", operation.size,
             sends ? "to" : "from", operation.peer, operation.tag, operation.cpu);
}

}  // namespace

void WriteText(const RankSchedules& ranks, std::ostream& out) {
  TextOut text(out);
  text.Print("num_ranks {}\n", ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    text.Print("\nrank {} {{\n", rank);
    for (std::size_t i = 0; i < ranks[rank].operations.size(); ++i) {
      WriteOperation(i, ranks[rank].operations[i], text);
    }
    // An edge may name only what is above it.
    for (const Edge& edge : ranks[rank].edges) {
      text.Print("l{} requires l{}\n", edge.waits, edge.on);
    }
    text.Print("}}\n");
  }
}

}  // namespace reprise::goal
