package patch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told shows a patch in a line a file.
func told(files []File) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString([]string{"update", "add", "delete"}[f.Kind] + " " + f.Path)
		if f.To != "" {
			b.WriteString(" to " + f.To)
		}
		if f.Text != "" {
			fmt.Fprintf(&b, " %q", f.Text)
		}
		for _, h := range f.Hunks {
			fmt.Fprintf(&b, " %q→%q", h.Old, h.New)
			if h.Line > 0 {
				fmt.Fprintf(&b, " line %d", h.Line)
			}
			if len(h.Anchors) > 0 {
				fmt.Fprintf(&b, " behind %q", h.Anchors)
			}
			if h.AtEnd {
				b.WriteString(" at the end")
			}
		}
		for _, e := range f.Edits {
			fmt.Fprintf(&b, " %q→%q", e.Old, e.New)
		}
		if len(f.Notes) > 0 {
			b.WriteString(" with a note")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, beside, text, want string }{
		{"plain names", "", "--- x.go\n+++ x.go\n@@ -1 +1 @@\n-a\n+b\n", `update x.go "a\n"→"b\n" line 1`},
		{"with times", "", "--- x.go\t2026-01-01 10:00\n+++ x.go\t2026-01-01 11:00\n@@ -1 +1 @@\n-a\n+b\n", `update x.go "a\n"→"b\n" line 1`},
		{"prefixes of git", "", "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n", `update x.go "a\n"→"b\n" line 1`},
		{"a folder that is called a", "", "--- a/x.go\n+++ a/x.go\n@@ -1 +1 @@\n-a\n+b\n", `update a/x.go "a\n"→"b\n" line 1`},
		{"other prefixes", "", "--- i/x.go\n+++ w/x.go\n@@ -1 +1 @@\n-a\n+b\n", `update x.go "a\n"→"b\n" line 1`},
		{"a quoted name", "", "--- \"a/na\\303\\257ve\\t.go\"\n+++ \"b/na\\303\\257ve\\t.go\"\n@@ -1 +1 @@\n-a\n+b\n", "update naïve\t.go \"a\\n\"→\"b\\n\" line 1"},
		{"line ends of Windows", "", "--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", `update x "a\n"→"b\n" line 1`},
		{"words and a fence around", "", "```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n", `update x "a\n"→"b\n" line 1`},
		{"words before", "", "Here it is:\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", `update x "a\n"→"b\n" line 1`},
		{"no hunk head", "", "--- a/x\n+++ b/x\n a\n-b\n+c\n", `update x "a\nb\n"→"a\nc\n"`},
		{"hunks alone", "x", "@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n", `update x "a\n"→"b\n" line 1 "c\n"→"d\n" line 9`},
		{"numbers that contradict the lines", "", "--- a/x\n+++ b/x\n@@ -1,7 +1,7 @@\n-a\n+b\n", `update x "a\n"→"b\n"`},
		{"too few by their number", "", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n c\n", `update x "a\nc\n"→"b\nc\n"`},
		{"numbers that contradict each other", "", "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n@@ -9 +9 @@\n-c\n+d\n", `update x "a\n"→"b\nc\n" "c\n"→"d\n"`},
		{"numbers that agree", "", "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n@@ -9 +10 @@\n-c\n+d\n", `update x "a\n"→"b\nc\n" line 1 "c\n"→"d\n" line 9`},
		{"a number beyond all numbers", "", "--- a/x\n+++ b/x\n@@ -99999999999999999999 +1 @@\n-a\n+b\n", `update x "a\n"→"b\n"`},
		{"blank lines that lost their blank", "", "--- a/x\n+++ b/x\n@@ -1,4 +1,4 @@\n a\n\n-b\n+c\n\n", `update x "a\n\nb\n\n"→"a\n\nc\n\n" line 1`},
		{"the same in the middle", "", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\n\n", `update x "a\n\nb\n"→"a\n\nc\n" line 1`},
		{"a line of dashes is deleted", "", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n z\n@@ -9 +9 @@\n-c\n+d\n", `update x "-- old\nz\n"→"++ new\nz\n" line 1 "c\n"→"d\n" line 9`},
		{"no final newline before", "", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", `update x "a"→"a\n" line 1 at the end`},
		{"no final newline after", "", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", `update x "a\n"→"a" line 1 at the end`},
		{"no final newline at all", "", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n\\ No newline at end of file\n", `update x "a\nc"→"b\nc" line 1 at the end`},
		{"a new file", "", "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n", `add x "a\nb\n"`},
		{"a new empty file", "", "diff --git a/x y b/x y\nnew file mode 100644\nindex 0000000..e69de29\n", `add x y`},
		{"a new program", "", "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", `add x "a\n" with a note`},
		{"a deleted file", "", "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", `delete x "a\n"→"" line 1`},
		{"a file that is moved", "", "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", `update x to y`},
		{"two files and a signature", "", "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n-- \n2.43.0\n",
			"update x \"a\\n\"→\"b\\n\" line 1\nupdate y \"a\\n\"→\"b\\n\" line 1"},
		{"a mode beside a change", "", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", `update x "a\n"→"b\n" line 1 with a note`},
		{"a path beside that is longer", "/w/m/x", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", `update /w/m/x "a\n"→"b\n" line 1`},
		{"an envelope", "", "*** Begin Patch\n*** Update File: x\n@@ class A:\n@@ def f\n-a\n+b\n@@\n-c\n+d\n*** End of File\n*** Add File: y\n+1\n\n+2\n\n*** Delete File: z\n*** Update File: u\n*** Move to: v\n*** End Patch\n",
			"update x \"a\\n\"→\"b\\n\" behind [\"class A:\" \"def f\"] \"c\\n\"→\"d\\n\" at the end\nadd y \"1\\n\\n2\\n\"\ndelete z\nupdate u to v"},
		{"an envelope without a line of @@", "", "*** Begin Patch\n*** Update File: x\n-a\n+b\n*** End Patch", `update x "a\n"→"b\n"`},
		{"an envelope without its begin", "", "*** Update File: x\n@@ -1 +1 @@\n-a\n+b\n*** End Patch", `update x "a\n"→"b\n" line 1`},
		{"a marker within a hunk is text", "", "*** Begin Patch\n*** Update File: x\n@@\n *** Delete File: y\n-a\n+b\n*** End Patch", `update x "*** Delete File: y\na\n"→"*** Delete File: y\nb\n"`},
		{"blocks", "", "x.go\n```go\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```\n**y.go**\n<<<<<<< SEARCH\n:start_line:7\n-------\nc\n=======\n>>>>>>> REPLACE\n", "update x.go \"a\\n\"→\"b\\n\"\nupdate y.go \"c\\n\"→\"\""},
		{"a block with marks in its text", "x", "<<<<<<< SEARCH\nT\n\\=======\n=======\nU\n\\=======\n>>>>>>> REPLACE\n", `update x "T\n=======\n"→"U\n=======\n"`},
	} {
		files, err := Parse(c.text, c.beside)
		if got := strings.TrimSuffix(told(files), "\n"); err != nil || got != c.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ beside, text, says string }{
		{"", "", "the patch is none"},
		{"", "a := 1\n", "the patch is none"},
		{"", "@@ -1 +1 @@\n-a\n+b\n", "names no file"},
		{"y", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "path is y, but the patch changes x"},
		{"", "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "two names for one file, a/x and b/y"},
		{"", "--- a/x\n+++ b/x\n", "has no hunk"},
		{"", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n a\n", "changes nothing"},
		{"", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\nb\n", `("b") stands in a hunk`},
		{"", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nwords\n+c\n", `("+c") stands in no hunk`},
		{"", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nwords\n@@ -5 +5 @@\n-a\n+b\n", "stands in no hunk"},
		{"", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n\\ No newline at end of file\n-b\n+c\n", "has no newline"},
		{"", "--- a/x\n+++ b/x\n@@@ -1,2 -1,2 +1,2 @@@\n- a\n++b\n", "diff of a merge"},
		{"", "--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "has lines of an old file"},
		{"", "--- a/x\n+++ /dev/null\n@@ -1,2 +1 @@\n-a\n b\n", "keeps lines of it"},
		{"", "diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary file differs"},
		{"", "diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 3\nabc\n", "begins binary data"},
		{"", "diff --git a/x b/y\ncopy from x\ncopy to y\n", "copies a file"},
		{"", "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n", "makes a link"},
		{"", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "only the mode of x"},
		{"", "diff --git a/x b/y\nrename from x\n", "only one name"},
		{"", "diff --git a/x b/yy\nindex 1..2\n", "names that can be told apart"},
		{"", "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n", "was cut off"},
		{"", "*** Begin Patch\n*** Add File: x\n+a\nb\n*** End Patch", `("b") has no +`},
		{"", "*** Begin Patch\n*** Rename File: x\n*** End Patch", "is none of *** Update File"},
		{"", "*** Begin Patch\n*** Delete File:\n*** End Patch", "names no file"},
		{"", "*** Begin Patch\n*** Delete File: x\n*** End Patch\nand more", "behind *** End Patch"},
		{"", "*** Begin Patch\n*** End Patch", "holds no file"},
		{"", "*** Begin Patch\n*** Update File: x\n*** End Patch", "has no hunk"},
		{"x", "<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "no line ======="},
		{"x", "<<<<<<< SEARCH\na\n=======\nb\n", "no line >>>>>>> REPLACE"},
		{"x", "<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n", `"=======" stands besides`},
		{"x", "<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\nc\n=======\nd\n>>>>>>> REPLACE\n", "stands besides"},
	} {
		files, err := Parse(c.text, c.beside)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %s %v", c.text, told(files), err)
		}
	}
}

func TestIn(t *testing.T) {
	const diff = `--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b`
	for _, c := range []struct{ args, names string }{
		{`{"patch":"` + diff + `"}`, "x"},
		{`{"patch":"","diff":"` + diff + `"}`, "x"},
		{`{"patch":null,"edits":"` + diff + `"}`, "x"},
		{`{"patch":"` + diff + `","patch":"*** Begin Patch\n*** Delete File: y\n*** End Patch"}`, "y"},
		{`{"edits":"[{\"old\":\"a\",\"new\":\"b\"}]","path":"x"}`, ""},
		{`{"edits":[{"old":"","new":"` + diff + `"}],"path":"x"}`, ""},
		{`{"path":"x"}`, ""},
		{`[]`, ""},
		{`no JSON`, ""},
		{`{"path":"x","patch":"` + diff + `"`, ""},
	} {
		files, found, err := In(c.args)
		if got := strings.Join(Names(files), " "); err != nil || got != c.names || found != (got != "") {
			t.Errorf("%s: %q %v %v", c.args, got, found, err)
		}
	}
}

// What can be read names a file for everything that it does, and is read the same way twice.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "*** Begin Patch\n*** Update File: x\n*** Move to: y\n@@ z\n-a\n+b\n*** End of File\n*** End Patch",
		"<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "diff --git a/x b/y\nrename from x\nrename to y\n", "```\n@@ ... @@\n\n-a\n\\ No newline\n```",
		"diff --git \"a/\\303\\257\" \"b/\\303\\257\"\nnew file mode 100644\n",
	} {
		f.Add(seed, "")
		f.Add(seed, "m/x")
	}
	f.Fuzz(func(t *testing.T, text, beside string) {
		files, err := Parse(text, beside)
		if err != nil {
			return
		}
		if len(files) == 0 {
			t.Fatal("a patch without a file")
		}
		for _, file := range files {
			if file.Path == "" || !slices.Contains(Names(files), file.Path) {
				t.Fatalf("no name: %+v", file)
			}
			if file.Kind == Update && len(file.Hunks)+len(file.Edits) == 0 && file.To == "" || file.Kind != Add && file.Text != "" {
				t.Fatalf("nothing is done: %+v", file)
			}
			for _, h := range file.Hunks {
				if h.Old == h.New || h.Line < 0 || h.Before < 0 || h.After < 0 {
					t.Fatalf("%+v", h)
				}
			}
		}
		if again, err := Parse(text, beside); err != nil || told(again) != told(files) {
			t.Fatalf("read otherwise the second time: %v", err)
		}
	})
}
