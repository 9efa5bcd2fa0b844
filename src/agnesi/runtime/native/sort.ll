; Rows of 64-bit integers put in order by their upper halves, as signed numbers; equal ones stay as
; they are.  Four passes over 8 bits each, from the lowest; passes over bits that are all alike are
; left out.

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; The digit of pass %p: the sign's bit is turned over in the last one.
define internal i64 @digit(i64 %value, i64 %p) nounwind alwaysinline {
  %turned = xor i64 %value, -9223372036854775808
  %bits = shl i64 %p, 3
  %shift = add i64 %bits, 32
  %down = lshr i64 %turned, %shift
  %digit = and i64 %down, 255
  ret i64 %digit
}

define internal void @count(ptr %counts, i64 %value, i64 %p) nounwind alwaysinline {
  %digit = call i64 @digit(i64 %value, i64 %p)
  %row = shl i64 %p, 8
  %i = add i64 %row, %digit
  %at = getelementptr i64, ptr %counts, i64 %i
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  ret void
}

; One pass: from %from to %to, by the places where each digit begins.
define internal void @pass(ptr noalias %from, ptr noalias %to, i64 %n, ptr noalias %starts, i64 %p) nounwind {
entry:
  br label %sum
sum:
  %d = phi i64 [0, %entry], [%d1, %sum]
  %total = phi i64 [0, %entry], [%next, %sum]
  %count.at = getelementptr i64, ptr %starts, i64 %d
  %count = load i64, ptr %count.at
  store i64 %total, ptr %count.at
  %next = add i64 %total, %count
  %d1 = add i64 %d, 1
  %summed = icmp eq i64 %d1, 256
  br i1 %summed, label %move, label %sum
move:
  %i = phi i64 [0, %sum], [%i1, %move]
  %value.at = getelementptr i64, ptr %from, i64 %i
  %value = load i64, ptr %value.at
  %digit = call i64 @digit(i64 %value, i64 %p)
  %place.at = getelementptr i64, ptr %starts, i64 %digit
  %place = load i64, ptr %place.at
  %target = getelementptr i64, ptr %to, i64 %place
  store i64 %value, ptr %target
  %place1 = add i64 %place, 1
  store i64 %place1, ptr %place.at
  %i1 = add i64 %i, 1
  %moved = icmp eq i64 %i1, %n
  br i1 %moved, label %done, label %move
done:
  ret void
}

define internal void @sort_row(ptr %row, ptr %room, i64 %n) nounwind {
entry:
  %counts = alloca [1024 x i64], align 64
  call void @llvm.memset.p0.i64(ptr %counts, i8 0, i64 8192, i1 false)
  br label %look
look:
  %i = phi i64 [0, %entry], [%i1, %look]
  %value.at = getelementptr i64, ptr %row, i64 %i
  %value = load i64, ptr %value.at
  call void @count(ptr %counts, i64 %value, i64 0)
  call void @count(ptr %counts, i64 %value, i64 1)
  call void @count(ptr %counts, i64 %value, i64 2)
  call void @count(ptr %counts, i64 %value, i64 3)
  %i1 = add i64 %i, 1
  %seen = icmp eq i64 %i1, %n
  br i1 %seen, label %passes, label %look
passes:
  %p = phi i64 [0, %look], [%p1, %after]
  %from = phi ptr [%row, %look], [%from1, %after]
  %to = phi ptr [%room, %look], [%to1, %after]
  %first = load i64, ptr %from
  %digit = call i64 @digit(i64 %first, i64 %p)
  %starts.i = shl i64 %p, 8
  %starts = getelementptr i64, ptr %counts, i64 %starts.i
  %alike.at = getelementptr i64, ptr %starts, i64 %digit
  %alike = load i64, ptr %alike.at
  %trivial = icmp eq i64 %alike, %n
  br i1 %trivial, label %after, label %run
run:
  call void @pass(ptr %from, ptr %to, i64 %n, ptr %starts, i64 %p)
  br label %after
after:
  %from1 = phi ptr [%from, %passes], [%to, %run]
  %to1 = phi ptr [%to, %passes], [%from, %run]
  %p1 = add i64 %p, 1
  %last = icmp eq i64 %p1, 4
  br i1 %last, label %end, label %passes
end:
  %there = icmp eq ptr %from1, %row
  br i1 %there, label %done, label %back
back:
  %bytes = shl i64 %n, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %room, i64 %bytes, i1 false)
  br label %done
done:
  ret void
}

; %rows rows of %n integers, one after the other; %n is not zero, and %room has room for one row.
define void @sort_rows(ptr %data, ptr %room, i64 %rows, i64 %n) nounwind {
entry:
  %none = icmp eq i64 %rows, 0
  br i1 %none, label %done, label %row
row:
  %r = phi i64 [0, %entry], [%r1, %row]
  %start = mul i64 %r, %n
  %at = getelementptr i64, ptr %data, i64 %start
  call void @sort_row(ptr %at, ptr %room, i64 %n)
  %r1 = add i64 %r, 1
  %last = icmp eq i64 %r1, %rows
  br i1 %last, label %done, label %row
done:
  ret void
}
