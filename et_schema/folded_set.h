// A folded capture: ranks that are alike share one rank's file, and a file of times has what
// differs (docs/et_format.md, "Folded captures"). Each rank has a file by its name all the same:
// readers of "<dir>/gpt.12.et", which does not exist, get the bytes that the rank's own file had.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "et_schema/rank_classes.h"

namespace reprise {

class ByteSource;
class ReferenceRank;

inline constexpr const char* kFoldedFile = "folded.json";

// Ranks of one class.
struct AlikeRanks {
  std::string file;                 // of its first rank, in the directory of folded.json
  std::string times;                // what the ranks differ in
  std::vector<std::int32_t> ranks;  // ascending
  bool operator==(const AlikeRanks&) const = default;
};

// Immutable; safe to read from many threads.
class FoldedSet {
 public:
  [[nodiscard]] static bool Present(const std::string& directory);
  // Read once as long as someone holds the result. Bad input: the file is damaged, a rank is in two
  // classes, more ranks than InputLimits has.
  static Result<std::shared_ptr<const FoldedSet>> Read(const std::string& directory);
  // Of classes whose files are in `directory`.
  [[nodiscard]] static Status Write(const std::string& directory, const std::string& name,
                                    const std::vector<AlikeRanks>& classes);
  ~FoldedSet();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<AlikeRanks>& classes() const { return classes_; }
  [[nodiscard]] bool Has(std::int32_t rank) const { return places_.contains(rank); }
  // Rank → path of its file, which does not exist.
  [[nodiscard]] std::map<std::int32_t, std::string> Files() const;
  // On disk, without the directory.
  [[nodiscard]] std::vector<std::string> FileNames() const;
  // The bytes of a rank's file.
  [[nodiscard]] Result<std::unique_ptr<ByteSource>> Open(std::int32_t rank) const;

 private:
  struct Place {
    std::size_t of_class = 0, number = 0;
  };
  struct Kept;
  FoldedSet();
  [[nodiscard]] Status Parse(const std::string& text);
  [[nodiscard]] Result<std::shared_ptr<const ReferenceRank>> Reference(std::size_t of_class) const;

  std::string directory_, name_;
  std::vector<AlikeRanks> classes_;
  std::map<std::int32_t, Place> places_;
  std::unique_ptr<Kept> kept_;  // classes' files as they were read
};

// The bytes of the file of a rank of a folded capture; null: `path` names none.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> OpenFoldedRank(const std::string& path);

}  // namespace reprise
