; Collectives that a thread of the process does while the program goes on.
;
; A job is 64 words: 0 kind, 1 reduction, 2 what must agree, 3 bytes of an element, 4 and 5 where it
; comes from and goes, 6 bytes, 7 elements, from 16 on the text.  There is room for 64 jobs.  They are
; done in the order in which they begin, which is the same in all processes.

define internal i64 @nanoseconds() nounwind {
  %time = alloca [2 x i64], align 8
  %ignored = call i32 @clock_gettime(i32 {monotonic}, ptr %time)
  %s = call i64 @word(ptr %time, i64 0)
  %n = call i64 @word(ptr %time, i64 1)
  %b = mul i64 %s, 1000000000
  %r = add i64 %b, %n
  ret i64 %r
}

define internal ptr @field(ptr %g, i64 %i) nounwind alwaysinline {
  %at = getelementptr i64, ptr %g, i64 %i
  ret ptr %at
}

define internal void @count_time(ptr %g, i64 %i, i64 %since) nounwind {
  %now = call i64 @nanoseconds()
  %took = sub i64 %now, %since
  %at = call ptr @field(ptr %g, i64 %i)
  %before = atomicrmw add ptr %at, i64 %took monotonic
  ret void
}

define internal ptr @job(ptr %g, i64 %number) nounwind {
  %jobs = call i64 @word(ptr %g, i64 {jobs})
  %i = and i64 %number, 63
  %skip = shl i64 %i, 9
  %address = add i64 %jobs, %skip
  %at = inttoptr i64 %address to ptr
  ret ptr %at
}

define internal ptr @group_of(i64 %group) nounwind {
  %at = getelementptr ptr, ptr @groups, i64 %group
  %g = load ptr, ptr %at
  ret ptr %g
}

; Begin a collective of a row of %n elements; the number by which it is waited for goes to %ticket.
; Without a thread it is done here.
define i32 @begin(i64 %group, i64 %kind, i64 %how, i64 %code, i64 %item, ptr %in, ptr %out, ptr %ticket, i64 %bytes, i64 %n, ptr %text) nounwind {
entry:
  %sizes = alloca i64
  store i64 %n, ptr %sizes
  store i64 0, ptr %ticket
  %g = call ptr @group_of(i64 %group)
  %none = icmp eq ptr %g, null
  br i1 %none, label %absent, label %look
absent:
  ret i32 1
look:
  %serving = call i64 @word(ptr %g, i64 {serving})
  %alone = icmp eq i64 %serving, 0
  br i1 %alone, label %here, label %room
here:
  %told = call i32 @run(i64 %group, i64 %kind, i64 %how, i64 %code, i64 -1, i64 %item, ptr %in, ptr %out, i64 %bytes, ptr %sizes, i64 1, ptr %text)
  ret i32 %told
room:
  %begun = call ptr @field(ptr %g, i64 {begun})
  %finished = call ptr @field(ptr %g, i64 {finished})
  %before = load i64, ptr %begun
  %number = add i64 %before, 1
  %least = sub i64 %number, 64
  %waited = call i32 @await(ptr %g, ptr %finished, i64 %least, i64 {give.way})
  %bad = icmp ne i32 %waited, 0
  br i1 %bad, label %failed, label %post
failed:
  ret i32 %waited
post:
  %job = call ptr @job(ptr %g, i64 %number)
  %from = ptrtoint ptr %in to i64
  %to = ptrtoint ptr %out to i64
  call void @set(ptr %job, i64 0, i64 %kind)
  call void @set(ptr %job, i64 1, i64 %how)
  call void @set(ptr %job, i64 2, i64 %code)
  call void @set(ptr %job, i64 3, i64 %item)
  call void @set(ptr %job, i64 4, i64 %from)
  call void @set(ptr %job, i64 5, i64 %to)
  call void @set(ptr %job, i64 6, i64 %bytes)
  call void @set(ptr %job, i64 7, i64 %n)
  %words = getelementptr i64, ptr %job, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %text, i64 {text}, i1 false)
  store i64 %number, ptr %ticket
  call void @publish(ptr %begun, i64 %number)
  ret i32 0
}

; Wait until a collective is done.
define i32 @finish(i64 %group, ptr %ticket) nounwind {
entry:
  %g = call ptr @group_of(i64 %group)
  %none = icmp eq ptr %g, null
  br i1 %none, label %absent, label %look
absent:
  ret i32 1
look:
  %number = load i64, ptr %ticket
  %finished = call ptr @field(ptr %g, i64 {finished})
  %now = load atomic i64, ptr %finished acquire, align 8
  %there = icmp sge i64 %now, %number
  br i1 %there, label %done, label %wait
wait:
  %since = call i64 @nanoseconds()
  %told = call i32 @await(ptr %g, ptr %finished, i64 %number, i64 {give.way})
  call void @count_time(ptr %g, i64 {blocked}, i64 %since)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %failed, label %done
failed:
  ret i32 %told
done:
  %broken = call ptr @field(ptr %g, i64 {broken})
  %wrong = load atomic i64, ptr %broken acquire, align 8
  %result = trunc i64 %wrong to i32
  ret i32 %result
}

; Do what is begun until told to stop: what the thread runs.
define void @serve(i64 %group) nounwind {
entry:
  %sizes = alloca i64
  %g = call ptr @group_of(i64 %group)
  %begun = call ptr @field(ptr %g, i64 {begun})
  %finished = call ptr @field(ptr %g, i64 {finished})
  %sleepers = getelementptr i8, ptr %begun, i64 8
  %stop = call ptr @field(ptr %g, i64 {stop})
  br label %next
next:
  %before = load i64, ptr %finished
  %number = add i64 %before, 1
  br label %look
look:
  %now = load atomic i64, ptr %begun acquire, align 8
  %there = icmp sge i64 %now, %number
  br i1 %there, label %do, label %idle
idle:
  %over = load atomic i64, ptr %stop seq_cst, align 8
  %ending = icmp ne i64 %over, 0
  br i1 %ending, label %end, label %sleep
sleep:
  %a = atomicrmw add ptr %sleepers, i64 1 seq_cst
  %seen = load atomic i64, ptr %begun seq_cst, align 8
  %missing = icmp slt i64 %seen, %number
  br i1 %missing, label %doze, label %wake
doze:
  %low = trunc i64 %seen to i32
  call void @doze(ptr %begun, i32 %low)
  br label %wake
wake:
  %b = atomicrmw sub ptr %sleepers, i64 1 seq_cst
  br label %look
do:
  %since = call i64 @nanoseconds()
  %job = call ptr @job(ptr %g, i64 %number)
  %kind = call i64 @word(ptr %job, i64 0)
  %how = call i64 @word(ptr %job, i64 1)
  %code = call i64 @word(ptr %job, i64 2)
  %item = call i64 @word(ptr %job, i64 3)
  %from = call i64 @word(ptr %job, i64 4)
  %to = call i64 @word(ptr %job, i64 5)
  %bytes = call i64 @word(ptr %job, i64 6)
  %n = call i64 @word(ptr %job, i64 7)
  store i64 %n, ptr %sizes
  %in = inttoptr i64 %from to ptr
  %out = inttoptr i64 %to to ptr
  %text = getelementptr i64, ptr %job, i64 16
  %told = call i32 @run(i64 %group, i64 %kind, i64 %how, i64 %code, i64 -1, i64 %item, ptr %in, ptr %out, i64 %bytes, ptr %sizes, i64 1, ptr %text)
  call void @count_time(ptr %g, i64 {spent}, i64 %since)
  %failed = icmp ne i32 %told, 0
  br i1 %failed, label %note, label %did
note:
  %wide = zext i32 %told to i64
  %broken = call ptr @field(ptr %g, i64 {broken})
  %x = cmpxchg ptr %broken, i64 0, i64 %wide seq_cst seq_cst
  br label %did
did:
  call void @publish(ptr %finished, i64 %number)
  br label %next
end:
  ret void
}

; Let the thread end when it has done what is begun.
define void @halt(i64 %group) nounwind {
  %g = call ptr @group_of(i64 %group)
  %stop = call ptr @field(ptr %g, i64 {stop})
  store atomic i64 1, ptr %stop seq_cst, align 8
  %begun = call ptr @field(ptr %g, i64 {begun})
  call void @rouse(ptr %begun)
  ret void
}

; A program that stops in between leaves memory to which a thread may still write: wait until it is
; done, for {patience} twentieths of a second; then the others of the group are told that it is over.
define void @drain() nounwind {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %next]
  %more = icmp ult i64 %i, 256
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  %g = call ptr @group_of(i64 %i)
  %none = icmp eq ptr %g, null
  br i1 %none, label %next, label %known
known:
  %serving = call i64 @word(ptr %g, i64 {serving})
  %alone = icmp eq i64 %serving, 0
  br i1 %alone, label %next, label %look
look:
  %turn = phi i64 [0, %known], [%turn1, %wait], [%turn1, %impatient]
  %turn1 = add i64 %turn, 1
  %begun = call ptr @field(ptr %g, i64 {begun})
  %finished = call ptr @field(ptr %g, i64 {finished})
  %wanted = load atomic i64, ptr %begun acquire, align 8
  %now = load atomic i64, ptr %finished acquire, align 8
  %there = icmp sge i64 %now, %wanted
  br i1 %there, label %clear, label %wait
wait:
  %low = trunc i64 %now to i32
  %sleepers = getelementptr i8, ptr %finished, i64 8
  %a = atomicrmw add ptr %sleepers, i64 1 seq_cst
  call void @doze(ptr %finished, i32 %low)
  %b = atomicrmw sub ptr %sleepers, i64 1 seq_cst
  %checker = call i64 @word(ptr %g, i64 {waiter})
  %function = inttoptr i64 %checker to ptr
  %x = call i32 %function(i64 {give.way})
  %long = icmp eq i64 %turn, {patience}
  br i1 %long, label %impatient, label %look
impatient:
  %y = call i32 %function(i64 {give.up})
  br label %look
clear:
  call void @set(ptr %g, i64 {broken}, i64 0)
  br label %next
next:
  br label %head
done:
  ret void
}
