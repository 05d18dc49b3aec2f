// Operations of TPUs that run beside others: where each begins and where it is waited for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::pytorch {

// One run of such an operation: "all-gather-start.1", then "all-gather-done.1", and between them,
// where the profile has a line of these, what it took itself.
struct AsyncRun {
  std::int64_t start_ns = 0;  // of its beginning operation
  std::int64_t done_ns = -1;  // when the operation that waits for it began; -1: not there
  std::int64_t end_ns = -1;   // … and ended
  bool alone = false;         // the profile shows its own time
  std::int64_t item = -1;     // the number of its event
  std::int64_t second = -1;   // of one that ran beside it; -1: there is none
  std::int64_t before = -1;   // of the operation before its beginning; -1: not known
};

class AsyncRuns {
 public:
  void Begin(std::string_view start, std::int64_t at_ns);
  void Done(std::string_view start, std::int64_t from_ns, std::int64_t to_ns);
  void Own(std::string_view start, std::int64_t at_ns);
  // After the last of them. Numbers events from 0 on; returns the next free number.
  [[nodiscard]] std::int64_t Settle();

  // nullptr: there is none.
  [[nodiscard]] AsyncRun* ThatBegins(std::string_view start, std::int64_t at_ns);
  [[nodiscard]] AsyncRun* ThatIsAwaited(std::string_view start, std::int64_t from_ns);
  [[nodiscard]] AsyncRun* ThatOwns(std::string_view start, std::int64_t at_ns);

 private:
  struct Operation {
    std::vector<AsyncRun> runs;
    std::vector<std::pair<std::int64_t, std::int64_t>> waits;  // begin, end
    std::vector<std::int64_t> own;
    std::map<std::int64_t, std::size_t> by_wait, by_own;  // → index of the run
  };
  [[nodiscard]] Operation* Find(std::string_view start);
  std::map<std::string, Operation, std::less<>> operations_;
};

}  // namespace reprise::pytorch
