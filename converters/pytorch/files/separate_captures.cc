#include "converters/pytorch/files/separate_captures.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/text.h"

namespace reprise::pytorch {
namespace {

using Files = std::vector<const CapturedFile*>;

std::string& Slot(RankFiles& files, CaptureKind kind) {
  return kind == CaptureKind::kHost     ? files.host
         : kind == CaptureKind::kKineto ? files.kineto
                                        : files.meta;
}

std::string NameIn(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : fmt::format("{}/{}", directory, name);
}

// Sorts names by their numbers: "iteration_5" comes before "iteration_10".
std::string SortKey(const std::string& name) {
  const NumberedName numbered = NumbersIn(name);
  std::string out;
  std::size_t n = 0;
  for (const char c : numbered.form) {
    out += c == '#' ? fmt::format("{:0>20}", numbered.numbers[n++]) : std::string(1, c);
  }
  return out;
}

// By form, which numbers of its names are the rank in all files, of at least two ranks.
class RankNumbers {
 public:
  explicit RankNumbers(std::span<const CapturedFile> files) {
    for (const CapturedFile& file : files) {
      const NumberedName name = NumbersIn(file.name);
      Form& form = forms_[name.form];
      form.ranks.insert(file.rank);
      form.is_rank.resize(name.numbers.size(), true);
      for (std::size_t n = 0; n < name.numbers.size(); ++n) {
        form.is_rank[n] =
            form.is_rank[n] && ParseNumber<std::int32_t>(name.numbers[n]) == file.rank;
      }
    }
  }

  // "rank0_step5.json.gz" → "rank*_step5.json".
  [[nodiscard]] std::string Without(const std::string& name) const {
    const NumberedName numbered = NumbersIn(name);
    const Form& form = forms_.at(numbered.form);
    std::string out;
    std::size_t n = 0;
    for (const char c : numbered.form) {
      if (c != '#') {
        out += c;
        continue;
      }
      out += form.is_rank[n] && form.ranks.size() > 1 ? "*" : numbered.numbers[n];
      ++n;
    }
    return out;
  }

 private:
  struct Form {
    std::set<std::int32_t> ranks;
    std::vector<bool> is_rank;
  };
  std::map<std::string, Form> forms_;
};

// Whether no rank has two of them, and all parts have the same ranks.
bool IsRegular(const std::map<std::string, Files>& parts) {
  std::vector<std::set<std::int32_t>> ranks;
  for (const auto& [name, files] : parts) {
    std::set<std::int32_t>& of_part = ranks.emplace_back();
    for (const CapturedFile* file : files) {
      if (!of_part.insert(file->rank).second) {
        return false;
      }
    }
  }
  return std::ranges::adjacent_find(ranks, std::not_equal_to<>()) == ranks.end();
}

// The parts "1", "2" … by time. Empty: ranks were not recorded equally often, or parts overlap.
std::map<std::string, Files> ByTime(const Files& files) {
  std::map<std::int32_t, Files> by_rank;
  for (const CapturedFile* file : files) {
    by_rank[file->rank].push_back(file);
  }
  std::map<std::string, Files> parts;
  std::int64_t latest_ns = -1;
  for (std::size_t i = 0; i < by_rank.begin()->second.size(); ++i) {
    Files& part = parts[fmt::format("{}", i + 1)];
    for (auto& [rank, of_rank] : by_rank) {
      if (of_rank.size() != by_rank.begin()->second.size()) {
        return {};
      }
      std::ranges::sort(of_rank, {}, [](const CapturedFile* file) { return file->head.start_ns; });
      part.push_back(of_rank[i]);
      if (of_rank[i]->head.start_ns <= latest_ns) {
        return {};  // begins before a rank's last one, or nobody knows when
      }
    }
    for (const CapturedFile* file : part) {
      latest_ns = std::max(latest_ns, file->head.start_ns);
    }
  }
  return parts;
}

class Separation {
 public:
  explicit Separation(std::span<const CapturedFile> files) : files_(files), ranks_(files) {}

  Result<std::vector<Capture>> Run() {
    std::map<std::pair<std::string, CaptureKind>, Files> by_directory;
    for (const CapturedFile& file : files_) {
      by_directory[{std::string(DirectoryOf(ranks_.Without(file.name))), file.head.kind}].push_back(
          &file);
    }
    for (const auto& [of, files] : by_directory) {
      REPRISE_TRY(AddDirectory(of.first, files));
    }
    JoinNeighbours(AreHalves);
    JoinNeighbours(AreHosts);
    std::vector<Capture> out;
    for (auto& [name, capture] : captures_) {
      if (capture.Has(&RankFiles::host) || capture.Has(&RankFiles::kineto)) {
        capture.name = name.empty() ? "." : name;
        out.push_back(std::move(capture));
      }
    }
    std::ranges::sort(out, {}, [](const Capture& capture) {
      return std::tuple(capture.start_ns, SortKey(capture.name));
    });
    return out;
  }

 private:
  // All of a kind.
  Status AddDirectory(const std::string& directory, const Files& files) {
    std::map<std::string, Files> parts;
    if (IsRegular({{directory, files}})) {
      Add(directory, files);
      return {};
    }
    for (const CapturedFile* file : files) {
      parts[ranks_.Without(file->name)].push_back(file);
    }
    if (IsRegular(parts)) {
      for (const auto& [name, of_part] : parts) {
        Add(name, of_part);
      }
      return {};
    }
    parts = ByTime(files);
    if (parts.empty()) {
      return TwoFiles(files);
    }
    for (const auto& [name, of_part] : parts) {
      Add(NameIn(directory, name), of_part);
    }
    return {};
  }

  static Status TwoFiles(const Files& files) {
    std::map<std::int32_t, const CapturedFile*> by_rank;
    for (const CapturedFile* file : files) {
      const auto [known, fresh] = by_rank.try_emplace(file->rank, file);
      if (!fresh) {
        return BadInput(fmt::format(
            "{} and {}: two files for one rank ({}), and neither names nor times tell captures "
            "apart; leave the files of one capture in the directory",
            known->second->path, file->path, file->rank));
      }
    }
    return {};
  }

  void Add(const std::string& name, const Files& files) {
    Capture& capture = captures_[name];
    for (const CapturedFile* file : files) {
      RankFiles& of_rank = capture.ranks[file->rank];
      of_rank.rank = file->rank;
      Slot(of_rank, file->head.kind) = file->path;
      if (file->head.kind == CaptureKind::kKineto) {
        of_rank.kineto_process = file->of_process;
        of_rank.profiler = file->profiler;
      }
      capture.bytes += file->bytes;
      capture.Began(file->head.start_ns);
    }
  }

  // Joins captures that lie beside each other where `belong` says so of all that do.
  void JoinNeighbours(bool (*belong)(const std::vector<const Capture*>&)) {
    std::map<std::string, std::vector<std::string>> neighbours;
    for (const auto& [name, capture] : captures_) {
      neighbours[std::string(DirectoryOf(name))].push_back(name);
    }
    for (const auto& [parent, names] : neighbours) {
      std::vector<const Capture*> parts;
      for (const std::string& name : names) {
        parts.push_back(&captures_[name]);
      }
      const bool taken =
          captures_.contains(parent) && std::ranges::find(names, parent) == names.end();
      if (names.size() > 1 && !taken && belong(parts)) {
        Join(names, parent);
      }
    }
  }

  void Join(const std::vector<std::string>& names, const std::string& as) {
    Capture whole;
    for (const std::string& name : names) {
      const Capture part = std::move(captures_.extract(name).mapped());
      for (const auto& [rank, files] : part.ranks) {
        RankFiles& of_rank = whole.ranks[rank];
        of_rank.rank = rank;
        for (std::string RankFiles::*kind :
             {&RankFiles::host, &RankFiles::kineto, &RankFiles::meta}) {
          if ((of_rank.*kind).empty()) {
            of_rank.*kind = files.*kind;
          }
        }
      }
      whole.bytes += part.bytes;
      whole.Began(part.start_ns);
    }
    captures_[as] = std::move(whole);
  }

  // "chakra" beside "pytorch_profile".
  static bool AreHalves(const std::vector<const Capture*>& parts) {
    const auto kinds = [](const Capture* part) {
      return std::pair(part->Has(&RankFiles::host), part->Has(&RankFiles::kineto));
    };
    const auto one = kinds(parts.front());
    return parts.size() == 2 && one.first != one.second &&
           kinds(parts.back()) == std::pair(one.second, one.first);
  }

  // "node0" with ranks 0 to 7 beside "node1" with ranks 8 to 15.
  static bool AreHosts(const std::vector<const Capture*>& parts) {
    std::set<std::int32_t> ranks;
    std::size_t count = 0;
    for (const Capture* part : parts) {
      count += part->ranks.size();
      for (const auto& [rank, files] : part->ranks) {
        ranks.insert(rank);
      }
    }
    return ranks.size() == count && *ranks.begin() == 0 &&
           *ranks.rbegin() + 1 == static_cast<std::int64_t>(count);
  }

  std::span<const CapturedFile> files_;
  const RankNumbers ranks_;
  std::map<std::string, Capture> captures_;  // by name
};

}  // namespace

void Capture::Began(std::int64_t ns) {
  if (ns >= 0 && (start_ns < 0 || ns < start_ns)) {
    start_ns = ns;
  }
}

bool Capture::Has(std::string RankFiles::*kind) const {
  return std::ranges::any_of(
      ranks, [kind](const auto& of_rank) { return !(of_rank.second.*kind).empty(); });
}

Result<std::vector<Capture>> SeparateCaptures(std::span<const CapturedFile> files) {
  return Separation(files).Run();
}

}  // namespace reprise::pytorch
