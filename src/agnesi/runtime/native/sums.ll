; Checksums (saving/sums.py): four rows of 16384 words of 32 bits at a time, `sum = sum * M + row`
; for each; %powers are M, M^2, M^3 and M^4.  Each word is read once, at the speed of memory.
define void @add_rows(ptr %sum, ptr %rows, i64 %fours, ptr %powers) nounwind {
entry:
  %p1 = call <16 x i32> @power(ptr %powers, i64 0)
  %p2 = call <16 x i32> @power(ptr %powers, i64 1)
  %p3 = call <16 x i32> @power(ptr %powers, i64 2)
  %p4 = call <16 x i32> @power(ptr %powers, i64 3)
  br label %test
test:
  %n = phi i64 [0, %entry], [%n1, %next]
  %more = icmp ult i64 %n, %fours
  br i1 %more, label %begin, label %done
begin:
  %first = shl i64 %n, 16
  %four = getelementptr i32, ptr %rows, i64 %first
  br label %lanes
lanes:
  %k = phi i64 [0, %begin], [%k1, %lanes]
  %at = getelementptr i32, ptr %sum, i64 %k
  %row0.at = getelementptr i32, ptr %four, i64 %k
  %row1.at = getelementptr i32, ptr %row0.at, i64 16384
  %row2.at = getelementptr i32, ptr %row0.at, i64 32768
  %row3.at = getelementptr i32, ptr %row0.at, i64 49152
  %before = load <16 x i32>, ptr %at, align 4
  %row0 = load <16 x i32>, ptr %row0.at, align 4
  %row1 = load <16 x i32>, ptr %row1.at, align 4
  %row2 = load <16 x i32>, ptr %row2.at, align 4
  %row3 = load <16 x i32>, ptr %row3.at, align 4
  %a = mul <16 x i32> %before, %p4
  %b = mul <16 x i32> %row0, %p3
  %c = mul <16 x i32> %row1, %p2
  %d = mul <16 x i32> %row2, %p1
  %ab = add <16 x i32> %a, %b
  %cd = add <16 x i32> %c, %d
  %abcd = add <16 x i32> %ab, %cd
  %after = add <16 x i32> %abcd, %row3
  store <16 x i32> %after, ptr %at, align 4
  %k1 = add i64 %k, 16
  %again = icmp ult i64 %k1, 16384
  br i1 %again, label %lanes, label %next
next:
  %n1 = add i64 %n, 1
  br label %test
done:
  ret void
}

define internal <16 x i32> @power(ptr %powers, i64 %n) nounwind alwaysinline {
  %at = getelementptr i32, ptr %powers, i64 %n
  %one = load i32, ptr %at
  %lane = insertelement <16 x i32> poison, i32 %one, i64 0
  %all = shufflevector <16 x i32> %lane, <16 x i32> poison, <16 x i32> zeroinitializer
  ret <16 x i32> %all
}
