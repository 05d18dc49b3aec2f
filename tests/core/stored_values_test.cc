#include "core/stored_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "core/comm.h"

namespace reprise {
namespace {

struct Point {
  double x = 0;
  std::int64_t y = 0;
  bool operator==(const Point&) const = default;
};
// Its members are its own.
class Pens {
 public:
  Pens() = default;
  Pens(std::int32_t rank, const std::string& name) : by_place_{{{rank, "", 1.5}, name}} {}
  template <typename Self, typename Visit>
  static void VisitMembers(Self& self, Visit& visit) {
    visit(self.by_place_);
  }
  bool operator==(const Pens&) const = default;

 private:
  using Place = std::tuple<std::int32_t, std::string, double>;
  std::map<Place, std::string, std::greater<>> by_place_;
};
struct Drawing {
  std::string name;
  ReduceOp op = ReduceOp::kSum;
  bool filled = false;
  std::optional<Point> centre, corner;
  std::vector<Point> points;
  std::array<std::int32_t, 3> sizes{};
  std::map<std::string, std::vector<double>> weights;
  std::pair<std::string, std::int8_t> mark;
  Pens pens;
  bool operator==(const Drawing&) const = default;
};

Drawing MakeDrawing() {
  return {.name = "a drawing",
          .op = ReduceOp::kMax,
          .filled = true,
          .centre = Point{std::numeric_limits<double>::infinity(), -7},
          .corner = std::nullopt,
          .points = {{1, 2}, {3, std::numeric_limits<std::int64_t>::min()}},
          .sizes = {1, -2, 3},
          .weights = {{"", {}}, {"b", {0.1, 0.2}}},
          .mark = {"x", -1},
          .pens = {2, "red"}};
}

std::string Bytes(const Drawing& drawing) {
  std::string bytes;
  ValueWriter write(bytes);
  write(drawing);
  return bytes;
}

TEST(Fields, AreCountedAndVisitedInOrder) {
  static_assert(fields_internal::CountFields<Point>() == 2);
  static_assert(fields_internal::CountFields<Drawing>() == 10);
  Point point{1, 2};
  VisitFields(point, [](auto& member) { member += 10; });
  EXPECT_EQ(point, (Point{11, 12}));
}

TEST(StoredValues, ComeBackAsTheyWere) {
  const std::string bytes = Bytes(MakeDrawing());
  ValueReader read(bytes);
  Drawing drawing;
  read(drawing);
  EXPECT_TRUE(read.AtEnd());
  EXPECT_EQ(drawing, MakeDrawing());
}

TEST(StoredValues, CutShortTheyAreRefused) {
  const std::string bytes = Bytes(MakeDrawing());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ValueReader read(std::string_view(bytes).substr(0, size));
    Drawing drawing;
    read(drawing);
    EXPECT_FALSE(read.ok()) << size;
  }
  const std::string longer = bytes + "x";
  ValueReader read(longer);
  Drawing drawing;
  read(drawing);
  EXPECT_TRUE(read.ok());
  EXPECT_FALSE(read.AtEnd());
}

TEST(StoredValues, NoneIsOutOfItsRange) {
  for (const std::size_t place : {0, 17, 18}) {  // the text's length, the enum, the flag
    std::string bytes = Bytes(MakeDrawing());
    bytes[place + (place == 0 ? 7 : 0)] = '\x7f';
    ValueReader read(bytes);
    Drawing drawing;
    read(drawing);
    EXPECT_FALSE(read.ok()) << place;
  }
  std::string bytes = Bytes(MakeDrawing());
  bytes[8] = '\x1b';
  ValueReader read(bytes);
  Drawing drawing;
  read(drawing);
  EXPECT_EQ(drawing.name, "\\x1b drawing");
}

}  // namespace
}  // namespace reprise
