; Locks: who writes memory that outlasts the call has it alone, who reads it shares it with readers.
;
; A call takes all of its locks at once or none, and waits with none in its hands, so no call waits in
; a circle.  Everything here happens under the GIL.  A call out of a call that has locks, from a
; callback or a handler of signals, belongs to that one and takes none.

%Lock = type {i64, i64}                       ; how many calls write the memory now, and how many read it
%Use = type {ptr, i64}                        ; a lock, and whether it is to write

@lock_threads = internal global [256 x i64] zeroinitializer ; the threads that have locks
@lock_thread_count = global i64 0             ; how many these are
@lock_waiters = global i64 0

; Where a thread is among those that have locks; -1 if it is not.
define internal i64 @lock_index(i64 %thread) nounwind {
entry:
  %count = load i64, ptr @lock_thread_count
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %look]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %none
look:
  %at = getelementptr i64, ptr @lock_threads, i64 %i
  %other = load i64, ptr %at
  %mine = icmp eq i64 %other, %thread
  %i1 = add i64 %i, 1
  br i1 %mine, label %found, label %test
found:
  ret i64 %i
none:
  ret i64 -1
}

; Whether no other call has a lock that stands in the way.
define internal i1 @locks_free(i64 %count, ptr %list) nounwind {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %look]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %use = getelementptr %Use, ptr %list, i64 %i
  %lock = load ptr, ptr %use
  %writes.at = getelementptr %Use, ptr %use, i64 0, i32 1
  %writes = load i64, ptr %writes.at
  %writers = load i64, ptr %lock
  %readers.at = getelementptr %Lock, ptr %lock, i64 0, i32 1
  %readers = load i64, ptr %readers.at
  %reading = icmp eq i64 %writes, 0
  %others = select i1 %reading, i64 0, i64 %readers
  %busy = or i64 %writers, %others
  %clear = icmp eq i64 %busy, 0
  %i1 = add i64 %i, 1
  br i1 %clear, label %test, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Count a call among the writers and readers of its locks, or out.
define internal void @locks_mark(i64 %count, ptr %list, i64 %step) nounwind {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %mark]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %mark, label %done
mark:
  %use = getelementptr %Use, ptr %list, i64 %i
  %lock = load ptr, ptr %use
  %writes.at = getelementptr %Use, ptr %use, i64 0, i32 1
  %writes = load i64, ptr %writes.at
  %reading = icmp eq i64 %writes, 0
  %readers.at = getelementptr %Lock, ptr %lock, i64 0, i32 1
  %number.at = select i1 %reading, ptr %readers.at, ptr %lock
  %before = load i64, ptr %number.at
  %after = add i64 %before, %step
  %some = call i64 @llvm.smax.i64(i64 %after, i64 0) ; a forked child has begun anew
  store i64 %some, ptr %number.at
  %i1 = add i64 %i, 1
  br label %test
done:
  ret void
}

; Take locks: 1 if they are taken, 0 if there is nothing to take, -1 if another call has one; with
; %keep false none is taken, for a call during which no other thread runs.
define i32 @locks_take(i64 %count, ptr %list, i1 %keep) nounwind {
entry:
  %used = icmp ne i64 %count, 0
  br i1 %used, label %look, label %nothing
look:
  %threads = load i64, ptr @lock_thread_count
  %quiet = icmp eq i64 %threads, 0
  %idle = xor i1 %keep, true
  %skip = and i1 %quiet, %idle
  br i1 %skip, label %nothing, label %who
who:
  %ident = call ptr @api_get(i64 28)
  %me = call i64 %ident()
  %index = call i64 @lock_index(i64 %me)
  %inside = icmp sge i64 %index, 0
  %many = icmp uge i64 %threads, 256
  %aside = or i1 %inside, %many
  br i1 %aside, label %nothing, label %ask
ask:
  %free = call i1 @locks_free(i64 %count, ptr %list)
  br i1 %free, label %open, label %busy
open:
  br i1 %keep, label %take, label %nothing
take:
  call void @locks_mark(i64 %count, ptr %list, i64 1)
  %at = getelementptr i64, ptr @lock_threads, i64 %threads
  store i64 %me, ptr %at
  %more = add i64 %threads, 1
  store i64 %more, ptr @lock_thread_count
  ret i32 1
nothing:
  ret i32 0
busy:
  ret i32 -1
}

; Give locks back, and let those who wait look again.
define void @locks_give(i64 %count, ptr %list) nounwind {
entry:
  %type = alloca ptr
  %value = alloca ptr
  %traceback = alloca ptr
  call void @locks_mark(i64 %count, ptr %list, i64 -1)
  %ident = call ptr @api_get(i64 28)
  %me = call i64 %ident()
  %index = call i64 @lock_index(i64 %me)
  %known = icmp sge i64 %index, 0
  br i1 %known, label %leave, label %pass
leave:
  %threads = load i64, ptr @lock_thread_count
  %fewer = sub i64 %threads, 1
  %last.at = getelementptr i64, ptr @lock_threads, i64 %fewer
  %last = load i64, ptr %last.at
  %at = getelementptr i64, ptr @lock_threads, i64 %index
  store i64 %last, ptr %at
  store i64 %fewer, ptr @lock_thread_count
  br label %pass
pass:
  %waiters = load i64, ptr @lock_waiters
  %some = icmp sgt i64 %waiters, 0
  br i1 %some, label %fetch, label %done
fetch:                                        ; the call may have failed
  %save = call ptr @api_get(i64 30)
  call void %save(ptr %type, ptr %value, ptr %traceback) ; three owned references, or nulls
  br label %tell
tell:
  %i = phi i64 [0, %fetch], [%i1, %told]
  %call = call ptr @api_get(i64 21)
  %put = call ptr @api_get(i64 35)
  %none = call ptr @api_get(i64 16)
  %answer = call ptr %call(ptr %put, ptr %none)
  call void @decref(ptr %answer)              ; Py_DecRef takes null
  br label %told
told:
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %waiters
  br i1 %more, label %tell, label %restore
restore:
  %t = load ptr, ptr %type
  %v = load ptr, ptr %value
  %tb = load ptr, ptr %traceback
  %set = call ptr @api_get(i64 32)
  call void %set(ptr %t, ptr %v, ptr %tb)     ; steals the three
  br label %done
done:
  ret void
}

; Wait until locks are given back, or a little; whether no error came meanwhile.
define i1 @locks_wait() nounwind {
entry:
  %before = load i64, ptr @lock_waiters
  %more = add i64 %before, 1
  store i64 %more, ptr @lock_waiters
  %handler = call ptr @api_get(i64 34)
  %call = call ptr @api_get(i64 21)
  %none = call ptr @api_get(i64 16)
  %answer = call ptr %call(ptr %handler, ptr %none)
  %now = load i64, ptr @lock_waiters
  %less = sub i64 %now, 1
  %left = call i64 @llvm.smax.i64(i64 %less, i64 0)
  store i64 %left, ptr @lock_waiters
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %no, label %yes
yes:
  call void @decref(ptr %answer)
  ret i1 true
no:
  ret i1 false
}

; In the child of a fork: no other thread is there, though the one that forked may be in a call.
define void @locks_reset() nounwind {
entry:
  %ident = call ptr @api_get(i64 28)
  %me = call i64 %ident()
  %index = call i64 @lock_index(i64 %me)
  %inside = icmp sge i64 %index, 0
  %count = zext i1 %inside to i64
  store i64 %me, ptr @lock_threads
  store i64 %count, ptr @lock_thread_count
  store i64 0, ptr @lock_waiters
  ret void
}

%Held = type {i64, i64, ptr}                  ; whether they are taken, how many, the locks

; Take locks for code in Python; -1, with an error set, if a handler of signals raised it meanwhile.
define i32 @locks_begin(ptr %held) nounwind {
entry:
  %count.at = getelementptr %Held, ptr %held, i64 0, i32 1
  %count = load i64, ptr %count.at
  %list.at = getelementptr %Held, ptr %held, i64 0, i32 2
  %list = load ptr, ptr %list.at
  br label %try
try:
  %took = call i32 @locks_take(i64 %count, ptr %list, i1 true)
  switch i32 %took, label %done [ i32 1, label %note
                                  i32 -1, label %wait ]
note:
  store i64 1, ptr %held
  br label %done
wait:
  %waited = call i1 @locks_wait()
  br i1 %waited, label %try, label %stop
stop:
  ret i32 -1
done:
  ret i32 0
}

define void @locks_end(ptr %held) nounwind {
entry:
  %taken = load i64, ptr %held
  %none = icmp eq i64 %taken, 0
  br i1 %none, label %done, label %give
give:
  store i64 0, ptr %held
  %count.at = getelementptr %Held, ptr %held, i64 0, i32 1
  %count = load i64, ptr %count.at
  %list.at = getelementptr %Held, ptr %held, i64 0, i32 2
  %list = load ptr, ptr %list.at
  call void @locks_give(i64 %count, ptr %list)
  br label %done
done:
  ret void
}
