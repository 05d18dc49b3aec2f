#include "predict/calibration/kernel_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/shown_text.h"
#include "et_schema/byte_stream.h"
#include "predict/calibration/row_work.h"

namespace reprise {
namespace {

// Of a table as a text, unpacked: the largest that is published has 300 MB.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kLongestLine = 1 << 16;
// Times of one shape and type that differ more than this are of two devices, or a mistake.
constexpr double kMostApart = 2;
// Of the rows: fewer such are odd measurements, and are left out.
constexpr double kMostContradicting = 0.01;

// The lines of a file, without their ends.
class Lines {
 public:
  static Result<Lines> Open(const std::string& path) {
    REPRISE_ASSIGN(auto source, ByteSource::Open(path));
    return Lines(path, std::move(source));
  }
  // False at the end.
  [[nodiscard]] Result<bool> Next(std::string& line) {
    line.clear();
    for (;;) {
      if (at_ == filled_) {
        REPRISE_ASSIGN(filled_, source_->Read(buffer_));
        at_ = 0;
        total_ += filled_;
        if (filled_ == 0) {
          number_ += line.empty() ? 0 : 1;
          return !line.empty();
        }
        if (total_ > kMostBytes) {
          return BadInput(
              fmt::format("{}: more than {} bytes; cut it into several", path_, kMostBytes));
        }
      }
      const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(at_);
      const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(filled_);
      const auto newline = std::find(begin, end, '\n');
      line.append(begin, newline);
      at_ = static_cast<std::size_t>(newline - buffer_.begin()) + (newline == end ? 0 : 1);
      if (line.size() > kLongestLine) {
        return BadInput(fmt::format("{}: line {}: longer than {} bytes; expected a table of text",
                                    path_, number_ + 1, kLongestLine));
      }
      if (newline != end) {
        ++number_;
        if (line.ends_with('\r')) {
          line.pop_back();
        }
        return true;
      }
    }
  }
  [[nodiscard]] std::uint64_t number() const { return number_; }  // of the line last read

 private:
  Lines(std::string path, std::unique_ptr<ByteSource> source)
      : path_(std::move(path)), source_(std::move(source)), buffer_(1 << 16) {}

  std::string path_;
  std::unique_ptr<ByteSource> source_;
  std::vector<std::uint8_t> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t total_ = 0, number_ = 0;
};

// The fields of a line; views into it.
void Split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t begin = 0;;) {
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    fields.push_back(line.substr(begin, comma - begin));
    if (comma == line.size()) {
      return;
    }
    begin = comma + 1;
  }
}

class TableReader {
  class Fields : public RowFields {
   public:
    Fields(const TableReader& reader, const std::vector<std::string_view>& fields)
        : reader_(reader), fields_(fields) {}
    [[nodiscard]] bool Has(const std::string& name) const override {
      return reader_.places_.contains(name);
    }
    [[nodiscard]] std::string_view Text(const std::string& name) const override {
      return fields_[reader_.places_.at(name)];
    }
    [[nodiscard]] Result<std::int64_t> Size(const std::string& name) const override {
      REPRISE_ASSIGN(const double value, reader_.Number(fields_, name, true));
      return static_cast<std::int64_t>(value);
    }
    [[nodiscard]] tl::unexpected<Error> Wrong(const std::string& what) const override {
      return reader_.Wrong(what);
    }

   private:
    const TableReader& reader_;
    const std::vector<std::string_view>& fields_;
  };

 public:
  TableReader(const std::string& path, Lines lines) : path_(path), lines_(std::move(lines)) {}

  Result<KernelTable> Read(const std::vector<TableColumns>& columns) {
    REPRISE_TRY(ReadHeader(columns));
    table_.name = std::filesystem::path(path_).filename().string();
    table_.of_class = columns_->of_class;
    table_.op_class = OpClassOf(columns_->of_class);
    std::string line;
    std::vector<std::string_view> fields;
    for (;;) {
      REPRISE_ASSIGN(const bool more, lines_.Next(line));
      if (!more) {
        break;
      }
      Split(line, fields);
      if (fields.size() != width_) {
        return Wrong(fmt::format("{} fields, the header has {}", fields.size(), width_));
      }
      REPRISE_TRY(AddRow(fields));
    }
    const auto rows = static_cast<double>(table_.rows.size());
    if (static_cast<double>(table_.contradicting) > kMostContradicting * rows) {
      return BadInput(contradiction_);
    }
    if (static_cast<double>(table_.beyond_limit) > kMostContradicting * rows) {
      return BadInput(beyond_limit_);
    }
    if (table_.rows.empty()) {
      return BadInput(fmt::format("{}: no row of a type that {} names", path_, columns_->file));
    }
    return std::move(table_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> Wrong(const std::string& what) const {
    return BadInput(fmt::format("{}: line {}: {}", path_, lines_.number(), what));
  }

  Status ReadHeader(const std::vector<TableColumns>& columns) {
    std::string line;
    REPRISE_ASSIGN(const bool some, lines_.Next(line));
    if (!some) {
      return BadInput(fmt::format("{}: empty; expected a header with the columns' names", path_));
    }
    if (line.find('"') != std::string::npos) {
      return Wrong("quoted fields are not read; write the table without them");
    }
    std::vector<std::string_view> header;
    Split(line, header);
    width_ = header.size();
    for (const TableColumns& one : columns) {
      places_.clear();
      for (const auto& [name, column] : one.names) {
        const auto at = std::ranges::find(header, column);
        if (at != header.end()) {
          places_[name] = static_cast<std::size_t>(at - header.begin());
        }
      }
      if (places_.size() == one.names.size()) {
        columns_ = &one;
        watts_place_ = PlaceOf(header, one.watts);
        limit_place_ = PlaceOf(header, one.limit_watts);
        return {};
      }
    }
    return Wrong(fmt::format(
        "no file of columns fits its columns {}; say which is what in one, and give it with "
        "--columns (docs/kernel_tables.md)",
        ShownText(fmt::format("{}", fmt::join(header, ", ")))));
  }

  [[nodiscard]] static std::optional<std::size_t> PlaceOf(
      const std::vector<std::string_view>& header, const std::string& column) {
    const auto at = std::ranges::find(header, column);
    return at == header.end() || column.empty()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(at - header.begin()));
  }

  [[nodiscard]] Result<double> Number(const std::vector<std::string_view>& fields,
                                      const std::string& name, bool whole) const {
    return NumberOf(fields[places_.at(name)], columns_->names.at(name), whole);
  }
  [[nodiscard]] Result<double> NumberOf(std::string_view text, const std::string& column,
                                        bool whole) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // Above 2^53 a double holds no whole number for sure.
    constexpr double kMost = 9007199254740992;
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0) ||
        !(value <= kMost) || (whole && value != std::floor(value))) {
      return Wrong(fmt::format("{} is '{}'; expected {} above 0", column, ShownText(text),
                               whole ? "a whole number" : "a number"));
    }
    return value;
  }

  // An empty field says that the row has none.
  Status ReadWatts(const std::vector<std::string_view>& fields, KernelRow& row) {
    for (const auto& [place, column, watts] :
         {std::tuple(watts_place_, &columns_->watts, &row.watts),
          std::tuple(limit_place_, &columns_->limit_watts, &row.limit_watts)}) {
      if (place && !fields[*place].empty()) {
        REPRISE_ASSIGN(*watts, NumberOf(fields[*place], *column, false));
      }
    }
    if (row.watts && row.limit_watts && *row.watts > kMostOfLimit * *row.limit_watts) {
      ++table_.beyond_limit;
      if (beyond_limit_.empty()) {
        beyond_limit_ = fmt::format(
            "{}: line {}: {:g} W at a limit of {:g} W, and so in more than 1 % of the rows; "
            "expected "
            "watts of one device, and its limit",
            path_, row.line, *row.watts, *row.limit_watts);
      }
      row.watts.reset();
    }
    return {};
  }

  Status AddRow(const std::vector<std::string_view>& fields) {
    const auto type = columns_->types.find(std::string(fields[places_.at("type")]));
    if (type == columns_->types.end()) {
      ++table_.other_types;
      return {};
    }
    REPRISE_ASSIGN(KernelRow row, RowOf(columns_->of_class, type->second, Fields(*this, fields)));
    row.line = lines_.number();
    REPRISE_ASSIGN(const double time, Number(fields, "time", false));
    row.ns = time * columns_->ns_per_unit;
    REPRISE_TRY(ReadWatts(fields, row));
    std::string key(fields[places_.at("type")]);
    for (const auto& [name, place] : places_) {
      if (name != "time" && name != "type") {
        key.append(",").append(fields[place]);
      }
    }
    const auto [before, is_new] = first_.try_emplace(std::move(key), row.ns, row.line);
    const auto [ns, line] = before->second;
    if (!is_new && std::max(ns, row.ns) > kMostApart * std::min(ns, row.ns)) {
      ++table_.contradicting;
      if (contradiction_.empty()) {
        contradiction_ = fmt::format(
            "{}: line {}: {:g} us, and {:g} us in line {} for the same shape and type; a table is "
            "of one device and one state of it",
            path_, row.line, row.ns * 1e-3, ns * 1e-3, line);
      }
      return {};
    }
    table_.rows.push_back(row);
    return {};
  }

  const std::string& path_;
  Lines lines_;
  const TableColumns* columns_ = nullptr;
  std::map<std::string, std::size_t> places_;
  std::optional<std::size_t> watts_place_, limit_place_;
  std::size_t width_ = 0;
  std::map<std::string, std::pair<double, std::uint64_t>> first_;  // time and line, by what else
                                                                   // a row says
  std::string contradiction_, beyond_limit_;                       // the first
  KernelTable table_;
};

}  // namespace

Result<KernelTable> ReadKernelTable(const std::string& path,
                                    const std::vector<std::string>& columns) {
  REPRISE_ASSIGN(const std::vector<TableColumns> all, AllTableColumns(columns));
  REPRISE_ASSIGN(Lines lines, Lines::Open(path));
  return TableReader(path, std::move(lines)).Read(all);
}

bool IsKernelTable(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".csv.gz") || path.ends_with(".csv.zst");
}

}  // namespace reprise
