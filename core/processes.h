// The processes that share the work of one command, as mpirun or srun started them: each takes its
// share of the ranks, and what concerns all of them is told by messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/stored_values.h"

namespace reprise {

class Processes {
 public:
  virtual ~Processes() = default;
  [[nodiscard]] virtual int index() const = 0;
  [[nodiscard]] virtual int count() const = 0;
  // All processes call it, in the same order and not within parallel work, each with what it has
  // for all or with why it has nothing. All get the same: the bytes of every process, by process,
  // or the error of the first that has one, which says the process and its host. What is called
  // after an error gives the same one: a process that cannot go on need not tell how far it is.
  [[nodiscard]] virtual Result<std::vector<std::string>> Exchange(
      const Result<std::string>& mine) = 0;

  // The one that prints, and that writes what concerns all ranks.
  [[nodiscard]] bool first() const { return index() == 0; }
  // Success if every process has come so far without an error.
  [[nodiscard]] Status Agree(const Status& mine);
};

// A process alone, which does everything.
[[nodiscard]] Processes& OneProcess();

// Which of `count` items, in order, this process takes: [begin, end). As even as it goes, and
// nothing of small counts.
struct ItemRange {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
};
[[nodiscard]] ItemRange OwnShare(const Processes& processes, std::size_t count);

// Of a list whose own share each process has filled, the others' parts, too. What a process sends
// is trusted to be of this build of the program, on whatever host.
template <typename T>
[[nodiscard]] Status CompleteShares(Processes& processes, const Status& mine,
                                    std::vector<T>& items) {
  Result<std::string> told;
  if (!mine) {
    told = tl::unexpected<Error>(mine.error());
  } else if (processes.count() > 1) {
    const ItemRange own = OwnShare(processes, items.size());
    ValueWriter write(*told);
    for (std::size_t i = own.begin; i < own.end; ++i) {
      write(items[i]);
    }
  }
  REPRISE_ASSIGN(const std::vector<std::string> all, processes.Exchange(told));
  for (std::size_t process = 0, i = 0; processes.count() > 1 && process < all.size(); ++process) {
    const std::size_t end = items.size() * (process + 1) / all.size();
    if (static_cast<int>(process) == processes.index()) {
      i = end;
      continue;
    }
    ValueReader read(all[process], TextsRead::kAsWritten);
    for (; i < end; ++i) {
      read(items[i]);
    }
    if (!read.AtEnd()) {
      return EnvironmentError(
          "what another process of the job sent cannot be read: are all of one build?");
    }
  }
  return {};
}

}  // namespace reprise
