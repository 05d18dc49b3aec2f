// Where a conversion writes: beside the target first, so that it appears whole or not at all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/result.h"
#include "et_schema/trace_set.h"

namespace reprise {

// What was not published is removed by the destructor.
class OutputFiles {
 public:
  // A trace set. Usage error if `directory` exists and is not empty, unless
  // `force`: then the trace set in it is replaced, other files stay.
  static Result<OutputFiles> Directory(const std::string& directory, const std::string& name,
                                       bool force);
  // One rank's file, without groups. Usage error if it exists, unless `force`.
  static Result<OutputFiles> OneFile(const std::string& path, bool force);

  OutputFiles(OutputFiles&&) noexcept = default;
  OutputFiles& operator=(OutputFiles&&) noexcept = default;
  ~OutputFiles();

  // Where to write a rank's file, and where it will be found.
  [[nodiscard]] std::string Temporary(std::int32_t rank) const;
  [[nodiscard]] std::string Final(std::int32_t rank) const;
  // Writes the groups (trace sets only) and moves everything to its place.
  [[nodiscard]] Status Publish(const std::map<std::string, ProcessGroup>& groups) const;

 private:
  OutputFiles() = default;
  [[nodiscard]] std::string NameOf(std::int32_t rank) const;

  std::string file_;  // OneFile
  std::string directory_, name_;
  std::string temporary_;  // a directory beside directory_; empty: nothing to remove
  bool force_ = false;
};

}  // namespace reprise
