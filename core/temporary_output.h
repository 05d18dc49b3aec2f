// Where an output is written until it is whole: a file or directory beside its target that nobody
// else has, moved to its place at the end and removed where that does not come.
#pragma once

#include <functional>
#include <string>

#include "core/file_descriptor.h"
#include "core/result.h"

namespace reprise {

// Creates the directory of `path` and those above it where they are missing.
[[nodiscard]] Status CreateParents(const std::string& path);

// Where an output to `target` goes: without a slash at its end; of a link to a directory, the
// directory.
[[nodiscard]] std::string ResolvedTarget(const std::string& target);

// Names are random and created exclusively, so that no link that somebody planted is followed and
// no remains of a killed process are used again. The destructor removes what was not moved.
// Thread-safe among different objects.
class TemporaryOutput {
 public:
  // `<target>.tmp-<random>`. Missing directories above the target are created. Environment error if
  // that fails. A target that is a link to a directory is followed: the directory is replaced.
  static Result<TemporaryOutput> Directory(const std::string& target);
  // An empty file that this process alone created. Modes follow the umask, as for any new file.
  static Result<TemporaryOutput> File(const std::string& target);

  // A directory that another process of the job has created and publishes: this one removes it only
  // where a signal ends it. Environment error where it is not there: on a host that sees another
  // file system.
  static Result<TemporaryOutput> Joined(const std::string& path);

  // A directory that is there and stays where it is not published, whatever ends the process.
  static TemporaryOutput Kept(const std::string& path, const std::string& target);

  TemporaryOutput(TemporaryOutput&& other) noexcept;
  TemporaryOutput& operator=(TemporaryOutput&& other) noexcept;
  ~TemporaryOutput();

  [[nodiscard]] const std::string& path() const { return path_; }
  // An open descriptor of File(), for reading and writing. None afterwards.
  [[nodiscard]] FileDescriptor TakeDescriptor() { return std::move(descriptor_); }
  // Moves it to the target. A file replaces a file. A directory takes an existing one's place in
  // one step (renameat2, RENAME_EXCHANGE). Entries of the old one for which `keep` is true, by
  // their names, move to the new one; the others are removed by the destructor.
  using Keep = std::function<bool(const std::string& name)>;
  [[nodiscard]] Status Publish(const Keep& keep = {});
  // Of a joined one: no signal removes it any more, so that it may be published.
  void Leave();

 private:
  TemporaryOutput() = default;
  void Remove();
  void Forget();

  std::string path_, target_;
  FileDescriptor descriptor_;
  bool directory_ = false;
  bool joined_ = false;
  bool kept_ = false;
};

// A small file of an output, in a directory that is there. Environment error if it cannot be
// written.
[[nodiscard]] Status WriteTextFile(const std::string& path, const std::string& text);

// Removes all that exist in this process: for a signal that ends it. Not for a signal handler.
void RemoveTemporaryOutputs();

}  // namespace reprise
