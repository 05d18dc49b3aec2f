// Texts of rules: what they say, and what is said of those that are none.
#include "predict/transform/rule.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/et_schema/scratch_directory.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Rule Parsed(const std::string& text) {
  auto rule = ParseRule(text, "");
  EXPECT_TRUE(rule) << text << ": " << (rule ? "" : rule.error().message);
  return rule.value_or(Rule());
}

TEST(Rule, ConditionsAndActions) {
  const Rule rule = Parsed(
      "name=aten::mm class=gemm,comm  kind=all_reduce group=dp* module=*/mlp shape=\"[8,*] [*\" "
      "stream=0/7 rank=0-3,9,12- step=2 => scale 0.5");
  const RuleCondition& condition = rule.condition;
  EXPECT_EQ(condition.name, "aten::mm");
  EXPECT_THAT(condition.classes, ElementsAre(OpClass::kGemm, OpClass::kComm));
  EXPECT_THAT(condition.kinds, ElementsAre(CommKind::kAllReduce));
  EXPECT_EQ(condition.group, "dp*");
  EXPECT_EQ(condition.module, "*/mlp");
  EXPECT_EQ(condition.shape, "[8,*] [*");
  EXPECT_EQ(condition.stream, 7);
  EXPECT_EQ(condition.device, 0);
  EXPECT_THAT(condition.ranks,
              ElementsAre(NumberRange{0, 3}, NumberRange{9, 9}, NumberRange{12, INT64_MAX}));
  EXPECT_EQ(rule.action, RuleAction::kScale);
  EXPECT_EQ(rule.factor, 0.5);
  EXPECT_EQ(Parsed("=> time 1.5ms").number, 1'500'000);
  EXPECT_EQ(Parsed("=> time 0ns").number, 0);
  EXPECT_EQ(Parsed("thread=1 => delay 20us").number, 20'000);
  EXPECT_EQ(Parsed("stream=7 => remove").condition.device, std::nullopt);
  EXPECT_EQ(Parsed("=> resize 0.5").factor, 0.5);
  EXPECT_EQ(Parsed("=> resize 64MiB").factor, 0);
  EXPECT_EQ(Parsed("=> resize 64MiB").number, 64 << 20);
  EXPECT_EQ(Parsed("=> bucket 1g").number, 1 << 30);
  EXPECT_EQ(Parsed("=> dtype bfloat16").dtype, DType::kBFloat16);
  EXPECT_EQ(Parsed("=> stream 1/20").stream, 20);
  EXPECT_EQ(Parsed("=> stream 1/20").device, 1);
}

TEST(Rule, EverythingElseIsRefusedWithWhatIsPossible) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected CONDITIONS => ACTION"},
           {"class=gemm scale 0.5", "expected CONDITIONS => ACTION"},
           {"class=gemm =>", "expected one of the actions scale, time"},
           {"class=gemm => scal 0.5", "did you mean scale?"},
           {"class=gemm => scale", "scale takes a factor"},
           {"class=gemm => scale -1", "scale takes a factor"},
           {"class=gemm => scale nan", "scale takes a factor"},
           {"class=gemm => scale 1e9", "scale takes a factor"},
           {"class=gemm => remove 2", "remove takes nothing more"},
           {"class=gemm => time 5", "time takes a time"},
           {"class=gemm => time -5us", "time takes a time"},
           {"class=gemm => delay 20000000s", "delay takes a time"},
           {"=> resize 0", "resize takes a factor or bytes"},
           {"=> dtype float17", "dtype takes a type"},
           {"=> stream 7", "stream takes a stream"},
           {"clas=gemm => remove", "did you mean class?"},
           {"gemm => remove", "\"gemm\" is no condition"},
           {"class=gem => remove", "class= expects classes"},
           {"kind=all-reduce => remove", "kind= expects kinds"},
           {"rank=3-1 => remove", "rank= expects ranks"},
           {"step=-1 => remove", "step= expects steps"},
           {"stream=x => remove", "stream= expects a stream"},
           {"name= => remove", "name= expects a name"},
           {"class=gemm class=norm => remove", "class= comes twice"},
           {"name=\"a => remove", "a double quote has no end"}}) {
    const auto rule = ParseRule(text, "--rule ");
    ASSERT_FALSE(rule) << text;
    EXPECT_EQ(rule.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(rule.error().message, HasSubstr(why));
    EXPECT_THAT(rule.error().message, HasSubstr("--rule \"" + text + "\""));
  }
}

TEST(Rule, FilesHaveOneALine) {
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/rules";
  std::ofstream(path) << "# faster\n\n  class=gemm => scale 0.5 \r\nkind=all_reduce => alone\n";
  const auto rules = ReadRules(path);
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_EQ(rules->size(), 2U);
  EXPECT_EQ(rules->back().text, "kind=all_reduce => alone");
  std::ofstream(path) << "class=gemm => scale 0.5\nclass=gemm => faster\n";
  const auto wrong = ReadRules(path);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::kBadInput);
  EXPECT_THAT(wrong.error().message, HasSubstr(path + ":2: "));
  std::ofstream(path) << "# nothing\n";
  EXPECT_FALSE(ReadRules(path));
}

TEST(Rule, PatternsTakeStarsAndQuestionMarks) {
  for (const auto& [pattern, text, matches] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"", "", true},
                                                               {"*", "", true},
                                                               {"?", "", false},
                                                               {"a*b*c", "axxbyc", true},
                                                               {"a*b*c", "axxbycd", false},
                                                               {"*aab", "aaaab", true},
                                                               {"[8,?4]", "[8,64]", true},
                                                               {"a", "ab", false}}) {
    EXPECT_EQ(MatchesPattern(pattern, text), matches) << pattern << " " << text;
  }
}

}  // namespace
}  // namespace reprise
