// Files that appear in a directory together, beside what is there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/temporary_output.h"

namespace reprise {

class FilesTogether {
 public:
  // `force`: files of the same names are replaced.
  static Result<FilesTogether> Create(std::string directory, bool force);
  // Where a file of this name is to be written; a usage error if the directory has it already.
  [[nodiscard]] Result<std::string> Add(const std::string& name);
  // Moves all to their places, in one step where the directory is new. Without it none is there.
  [[nodiscard]] Status Publish();

 private:
  FilesTogether(std::string directory, bool force, TemporaryOutput folder)
      : directory_(std::move(directory)), force_(force), folder_(std::move(folder)) {}

  std::string directory_;
  bool force_ = false;
  TemporaryOutput folder_;
  std::vector<std::string> names_;
};

}  // namespace reprise
