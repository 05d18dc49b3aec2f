#include "converters/other_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "converters/text_source.h"
#include "core/input_file.h"
#include "core/text.h"

namespace reprise {
namespace {

constexpr std::string_view kUnpack = "unpack it, and convert the files in it";
constexpr std::string_view kProfileAgain =
    "Reprise reads the JSON of PyTorch's profiler: capture with torch.profiler "
    "(export_chrome_trace), see `reprise list formats`";

// As XLA writes it in every version (trace.json.gz).
constexpr std::string_view kViewersTrace =
    R"({"displayTimeUnit":"ns","metadata":{"highres-ticks":true})";

struct Form {
  std::string_view magic;
  std::size_t at;
  std::string_view name, way_on;
};

constexpr Form kForms[] = {
    {"PK\x03\x04", 0, "a zip archive", kUnpack},
    {"ustar", 257, "a tar archive", kUnpack},
    {"7z\xbc\xaf\x27\x1c", 0, "a 7z archive", kUnpack},
    {"Rar!", 0, "a rar archive", kUnpack},
    {"\xfd"
     "7zXZ",
     0, "packed with xz", "unpack it with `unxz` (gzip and zstd are read as they are)"},
    {"BZh", 0, "packed with bzip2",
     "unpack it with `bunzip2` (gzip and zstd are read as they are)"},
    {"\x04\x22\x4d\x18", 0, "packed with lz4",
     "unpack it with `unlz4` (gzip and zstd are read as they are)"},
    {kViewersTrace, 0, "a trace that JAX wrote for viewers, without sizes and groups of transfers",
     "convert the .xplane.pb beside it"},
    {"SQLite format 3", 0,
     "an SQLite database without the tables of Nsight Systems' exports, or of rocprofv3",
     kProfileAgain},
    {"version https://git-lfs", 0, "a pointer of Git LFS, not the file itself",
     "fetch the file with `git lfs pull`"},
    {"\x7f"
     "ELF",
     0, "a program", kProfileAgain},
    {"\x80\x02}q", 0, "a pickle of Python", kProfileAgain},
    {"\x89HDF", 0, "an HDF5 file", kProfileAgain},
    {"%PDF", 0, "a PDF", kProfileAgain},
};

constexpr std::string_view kExport =
    "export it with `nsys export --type sqlite --include-blobs true`, and convert that";

struct NamedForm {
  std::string_view suffix, name, way_on;
};
constexpr NamedForm kNames[] = {
    {".nsys-rep", "a report of Nsight Systems", kExport},
    {".qdrep", "a report of Nsight Systems", kExport},
    {".qdstrm", "a report of Nsight Systems", kExport},
    {".ncu-rep", "a report of Nsight Compute", kProfileAgain},
    {".pb", "a protocol buffer", kProfileAgain},
};

bool IsUtf16(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) {
    return true;
  }
  // Without a mark: a bracket beside a zero byte.
  const auto opens = [](char c) { return c == '{' || c == '['; };
  return head.size() >= 4 && ((opens(head[0]) && head[1] == '\0' && head[3] == '\0') ||
                              (head[0] == '\0' && opens(head[1]) && head[2] == '\0'));
}

bool IsHtml(std::string_view head) {
  const std::size_t at = head.find_first_not_of(" \n\r\t");
  const std::string begin =
      LowerCase(at == std::string_view::npos ? std::string_view() : head.substr(at, 9));
  return begin == "<!doctype" || begin.starts_with("<html");
}

}  // namespace

std::string OtherForm(std::string_view path, std::string_view head) {
  if (head.empty()) {
    return "is empty: copy or capture it again";
  }
  for (const Form& form : kForms) {
    if (head.size() > form.at && head.substr(form.at).starts_with(form.magic)) {
      return fmt::format("is {}: {}", form.name, form.way_on);
    }
  }
  if (IsUtf16(head)) {
    return "is text in UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8), or write it so";
  }
  if (IsHtml(head)) {
    return "is a page of HTML, as sites give it in place of a file: download the file itself";
  }
  for (const NamedForm& form : kNames) {
    if (path.ends_with(form.suffix)) {
      return fmt::format("is {}: {}", form.name, form.way_on);
    }
  }
  return {};
}

bool IsViewersTrace(std::string_view head) { return head.starts_with(kViewersTrace); }

Status CheckForm(const std::string& path) {
  REPRISE_ASSIGN(const OpenedInput input, OpenInput(path));
  const std::string head = ReadHead(path, kFormHeadBytes);
  if (head.empty() && input.bytes > 0) {
    return {};  // damaged: reading says where
  }
  const std::string form = OtherForm(path, head);
  return form.empty() ? Status() : BadInput(fmt::format("{} {}", path, form));
}

}  // namespace reprise
