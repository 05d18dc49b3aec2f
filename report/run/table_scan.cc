#include "report/run/table_scan.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace reprise {
namespace {

// Of the file's header, which is the first page's begin.
constexpr std::uint32_t kHeaderBytes = 100;
constexpr unsigned char kWithoutLog = 1;  // at 18 and 19: no write-ahead log
constexpr std::uint32_t kUtf8 = 1;        // at 56
// Of pages.
constexpr unsigned char kInterior = 5, kLeaf = 13;
constexpr std::size_t kMaxDepth = 20;

std::uint32_t Short(const unsigned char* at) {
  return static_cast<std::uint32_t>(at[0]) << 8U | at[1];
}
std::uint32_t Word(const unsigned char* at) { return Short(at) << 16U | Short(at + 2); }

// A number of one to nine bytes. False: it goes beyond `end`.
bool ReadNumber(const unsigned char*& at, const unsigned char* end, std::uint64_t& value) {
  if (at < end && *at < 0x80) {
    value = *at++;
    return true;
  }
  value = 0;
  for (int i = 0; i < 8 && at < end; ++i) {
    value = value << 7U | (*at & 0x7fU);
    if ((*at++ & 0x80U) == 0) {
      return true;
    }
  }
  if (at >= end) {
    return false;
  }
  value = value << 8U | *at++;
  return true;
}

// Whether these are the table's columns, in the order of the file.
Result<bool> HasColumns(Database& database, std::string_view table,
                        const std::vector<std::string_view>& columns) {
  REPRISE_ASSIGN(Statement select,
                 database.Prepare(fmt::format("SELECT name FROM pragma_table_xinfo('{}')", table)));
  for (std::size_t i = 0;; ++i) {
    REPRISE_ASSIGN(const bool more, select.Next());
    if (!more) {
      return i == columns.size();
    }
    if (i >= columns.size() || select.View(0) != columns[i]) {
      return false;
    }
  }
}

}  // namespace

tl::unexpected<Error> TableScan::Damaged() const {
  return tl::unexpected(Error{
      ErrorKind::kBadInput, path_ + ": damaged or not a run's SQLite file (a page is malformed)"});
}

Result<std::optional<TableScan>> TableScan::Open(Database& database, const std::string& path,
                                                 std::string_view table,
                                                 const std::vector<std::string_view>& columns) {
  REPRISE_ASSIGN(const bool has_columns, HasColumns(database, table, columns));
  REPRISE_ASSIGN(
      Statement select,
      database.Prepare(fmt::format(
          "SELECT rootpage FROM sqlite_master WHERE type='table' AND name='{}'", table)));
  REPRISE_ASSIGN(const bool found, select.Next());
  const std::int64_t root = found ? select.Int(0) : 0;
  TableScan scan;
  scan.path_ = path;
  scan.file_ = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int file = scan.file_.get();
  if (file < 0 || !has_columns || root < 1 || !std::in_range<std::uint32_t>(root)) {
    return std::nullopt;
  }
  std::array<unsigned char, kHeaderBytes> header{};
  const off_t size = lseek(file, 0, SEEK_END);
  if (size < static_cast<off_t>(header.size()) ||
      pread(file, header.data(), header.size(), 0) != static_cast<ssize_t>(header.size())) {
    return scan.Damaged();
  }
  const std::uint32_t page_bytes = Short(&header[16]);
  scan.page_bytes_ = page_bytes == 1 ? 65536 : page_bytes;
  scan.usable_bytes_ = scan.page_bytes_ - header[20];
  if (header[18] != kWithoutLog || header[19] != kWithoutLog || Word(&header[56]) != kUtf8) {
    return std::nullopt;
  }
  if (scan.page_bytes_ < 512 || !std::has_single_bit(scan.page_bytes_) ||
      scan.usable_bytes_ < 480) {
    return scan.Damaged();
  }
  scan.pages_ = static_cast<std::uint64_t>(size) / scan.page_bytes_;
  scan.fields_.resize(columns.size());
  REPRISE_TRY(scan.Descend(static_cast<std::uint32_t>(root)));
  return std::optional<TableScan>(std::move(scan));
}

Status TableScan::ReadPage(std::uint32_t number, std::vector<unsigned char>& page) {
  if (number < 1 || number > pages_ || ++pages_read_ > pages_) {
    return Damaged();
  }
  page.resize(page_bytes_);
  const ssize_t got = pread(file_.get(), page.data(), page.size(),
                            static_cast<off_t>(number - 1) * static_cast<off_t>(page_bytes_));
  if (got < 0) {
    return EnvironmentError(fmt::format("{}: {}", path_, std::generic_category().message(errno)));
  }
  return got == static_cast<ssize_t>(page.size()) ? Status{} : Damaged();
}

// Goes to a page below the current one; its cells come next.
Status TableScan::Descend(std::uint32_t number) {
  if (depth_ == kMaxDepth) {
    return Damaged();
  }
  if (levels_.size() == depth_) {
    levels_.emplace_back();
  }
  Level& level = levels_[depth_++];
  REPRISE_TRY(ReadPage(number, level.page));
  level.header = number == 1 ? kHeaderBytes : 0;
  const unsigned char* const header = level.page.data() + level.header;
  if (header[0] != kInterior && header[0] != kLeaf) {
    return Damaged();
  }
  level.leaf = header[0] == kLeaf;
  level.cell = 0;
  level.cells = Short(header + 3);
  const std::uint32_t pointers = level.header + (level.leaf ? 8 : 12);
  return pointers + 2 * level.cells <= usable_bytes_ ? Status{} : Damaged();
}

Result<bool> TableScan::Next() {
  while (depth_ > 0) {
    Level& level = levels_[depth_ - 1];
    if (level.leaf) {
      if (level.cell < level.cells) {
        REPRISE_TRY(ReadCell(level));
        ++level.cell;
        return true;
      }
      --depth_;
      continue;
    }
    // An interior page: the child of each cell, and one more.
    if (level.cell > level.cells) {
      --depth_;
      continue;
    }
    std::uint32_t child = level.header + 8;
    if (level.cell < level.cells) {
      child = Short(level.page.data() + level.header + 12 + 2 * level.cell);
    }
    ++level.cell;
    if (child + 4 > usable_bytes_) {
      return Damaged();
    }
    REPRISE_TRY(Descend(Word(level.page.data() + child)));
  }
  return false;
}

Status TableScan::ReadCell(const Level& leaf) {
  const unsigned char* const begin = leaf.page.data();
  const unsigned char* const end = begin + usable_bytes_;
  const unsigned char* at = begin + Short(begin + leaf.header + 8 + 2 * leaf.cell);
  std::uint64_t bytes = 0;
  std::uint64_t rowid = 0;
  if (at >= end || !ReadNumber(at, end, bytes) || !ReadNumber(at, end, rowid)) {
    return Damaged();
  }
  // How much of a row is on its page: the format's formula.
  const std::uint64_t most = usable_bytes_ - 35;
  if (bytes <= most) {
    return bytes <= static_cast<std::uint64_t>(end - at) ? ReadFields(at, bytes) : Damaged();
  }
  if (bytes > pages_ * page_bytes_) {
    return Damaged();
  }
  const std::uint64_t least = (usable_bytes_ - 12) * 32 / 255 - 23;
  const std::uint64_t some = least + (bytes - least) % (usable_bytes_ - 4);
  const std::uint64_t here = some <= most ? some : least;
  if (here + 4 > static_cast<std::uint64_t>(end - at)) {
    return Damaged();
  }
  record_.assign(at, at + here);
  REPRISE_TRY(ReadOverflow(Word(at + here), bytes));
  return ReadFields(record_.data(), record_.size());
}

// The rest of a row of `bytes`, from the page on that its begin names.
Status TableScan::ReadOverflow(std::uint32_t number, std::uint64_t bytes) {
  std::vector<unsigned char> page;
  while (record_.size() < bytes) {
    REPRISE_TRY(ReadPage(number, page));
    const std::uint64_t more = std::min<std::uint64_t>(bytes - record_.size(), usable_bytes_ - 4);
    record_.insert(record_.end(), page.begin() + 4,
                   page.begin() + 4 + static_cast<std::ptrdiff_t>(more));
    number = Word(page.data());
  }
  return {};
}

Status TableScan::ReadFields(const unsigned char* record, std::uint64_t bytes) {
  const unsigned char* const end = record + bytes;
  const unsigned char* at = record;
  std::uint64_t header_bytes = 0;
  if (!ReadNumber(at, end, header_bytes) || header_bytes > bytes) {
    return Damaged();
  }
  const unsigned char* const header_end = record + header_bytes;
  const unsigned char* value = header_end;
  for (Field& field : fields_) {
    field.type = 0;  // a row may lack its last columns
    if (at < header_end && !ReadNumber(at, header_end, field.type)) {
      return Damaged();
    }
    field.bytes = value;
    const std::uint64_t length = BytesOf(field.type);
    if (length > static_cast<std::uint64_t>(end - value)) {
      return Damaged();
    }
    value += length;
  }
  return {};
}

}  // namespace reprise
