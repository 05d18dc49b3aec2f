// What a command keeps of its work until its output is whole, so that the same command goes on with
// it where it was ended.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/file_descriptor.h"
#include "core/processes.h"
#include "core/result.h"

namespace reprise {

// What has to be the same for work to be taken up: the command, and its options by the names that
// users know. Inputs that may change from one run to the next belong into keys (KeptWork).
struct ResumableJob {
  std::string command;
  std::vector<std::pair<std::string, std::string>> options;
};

// What says of a file that it is still the same: its path, size and times. Empty: there is none.
[[nodiscard]] std::string StateOfFile(const std::string& path);

// The directory `<target>.partial`, which only its user may write to. It outlives whatever ends the
// command, and goes when the output is published. Nothing in it reads as a trace set:
//   lock          locked by each process of the job at work
//   job           the ResumableJob, and which program began it
//   ranks/        by names of ranks' files: <name>.read, what was read for all ranks; <name>.part,
//                 the file; <name>.made, what is told of it, with its checksum
//   set/          what is published; files of ranks come last, when groups and checksums are there
// What is kept has a checksum of its own, and the key of what it was made from: of another key or
// damaged, it is not there. Methods for one rank are thread-safe for different ranks.
class KeptWork {
 public:
  // All processes call it. `names`: of the ranks' files; what is kept of others is removed. Usage
  // error: it was begun with other options or by another program, or the directory is none of ours.
  // Environment error: another job has it, or it cannot be locked.
  static Result<KeptWork> Open(const std::string& target, const ResumableJob& job,
                               const std::vector<std::string>& names, Processes& processes);

  // Whether an earlier run has left something of these ranks.
  [[nodiscard]] bool found() const { return found_; }
  [[nodiscard]] std::string SetDirectory() const;
  // Where a rank's file is written.
  [[nodiscard]] std::string PartPath(const std::string& name) const;

  [[nodiscard]] std::optional<std::string> FindRead(const std::string& name,
                                                    const std::string& key) const;
  [[nodiscard]] Status KeepRead(const std::string& name, const std::string& key,
                                const std::string& bytes) const;
  // What was told of a rank's file, where the file is whole.
  [[nodiscard]] std::optional<std::string> TakeUp(const std::string& name, const std::string& key);
  // The file is written.
  [[nodiscard]] Status KeepMade(const std::string& name, const std::string& key,
                                const std::string& bytes);
  // Checksum of a file that this process has taken up or made; empty: of none.
  [[nodiscard]] std::string SumOf(const std::string& name) const;

  // The files of these names go to SetDirectory().
  [[nodiscard]] Status MoveParts(const std::map<std::string, std::string>& sums) const;
  // This process has no more to do with it: another job may have it.
  void Leave() { lock_ = FileDescriptor(); }
  // Once it is published, or where nothing was begun.
  void Remove();

 private:
  struct Sums {
    std::mutex mutex;
    std::map<std::string, std::string> by_name;
  };

  KeptWork() = default;
  [[nodiscard]] Status Begin(const ResumableJob& job, const std::vector<std::string>& names);
  [[nodiscard]] Status Lock(bool alone);
  [[nodiscard]] Status CheckJob(const ResumableJob& job);
  [[nodiscard]] Status TidyRanks(const std::vector<std::string>& names);
  [[nodiscard]] std::string RecordPath(const std::string& name, std::string_view ending) const;

  std::string directory_;
  FileDescriptor lock_;
  bool found_ = false;
  std::unique_ptr<Sums> sums_ = std::make_unique<Sums>();
};

}  // namespace reprise
